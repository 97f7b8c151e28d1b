// The page's build. Formulas are set while building, so that the page ships MathML and no formula program.
import temml from 'temml';
import { defineConfig, type Plugin } from 'vite';

// Makes `import { mathml } from './name.tex'` give the formula as MathML.
const formulas: Plugin = {
  name: 'formulas',
  transform(tex, id) {
    if (!id.endsWith('.tex')) return;
    // The page forbids style attributes; display style is in our own style sheet.
    const mathml = temml.renderToString(tex.trim(), { displayMode: true }).replace(' style="display:block math;"', '');
    if (mathml.includes('style='))
      this.error(`${id}: this formula needs a style attribute, which the page's CSP refuses`);
    return { code: `export const mathml = ${JSON.stringify(mathml)};`, map: null, moduleType: 'js' };
  },
};

export default defineConfig({
  // Relative, so that the page can live in any folder of any server.
  base: './',
  build: {
    outDir: '../build/web',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    // Nothing becomes a data: URL; a strict CSP may refuse those.
    assetsInlineLimit: 0,
  },
  plugins: [formulas],
});
