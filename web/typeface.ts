// The page's own face, Source Serif 4: of each style the letters that the page's texts have, as woff2, and its licence.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import subsetFont from 'subset-font';
import type { Plugin } from 'vite';

const folder = dirname(createRequire(import.meta.url).resolve('@expo-google-fonts/source-serif-4/package.json'));

const styles = [
  { name: '400Regular', weight: '400', style: 'normal' },
  // It stands for the semibold one too: browsers would smear it.
  { name: '400Regular_Italic', weight: '400 600', style: 'italic' },
  { name: '600SemiBold', weight: '600', style: 'normal' },
] as const;

const fileOf = (name: string): string => join(folder, name, `SourceSerif4_${name}.ttf`);

// Those of ASCII, and what the texts have besides; Chinese characters have the system's faces.
function letters(texts: readonly string[]): string {
  const ascii = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i));
  const own = texts.flatMap((text) => Array.from(text)).filter((letter) => letter > '~' && letter < '\u2e80');
  return Array.from(new Set([...ascii, ...own]))
    .sort()
    .join('');
}

/**
 * Makes `virtual:typeface`, the addresses of the files of each style; the server of development gives whole files.
 *
 * @param texts files with the texts of the page.
 */
export function typeface(texts: readonly string[]): Plugin {
  const made = new Map<string, string>();
  let building = false;
  return {
    name: 'typeface',
    configResolved: ({ command }) => {
      building = command === 'build';
    },
    async buildStart() {
      if (!building) return;
      const wanted = letters(texts.map((file) => readFileSync(file, 'utf8')));
      for (const { name } of styles) {
        // Without glyphs that stand for others, such as small capitals, which nothing asks for.
        const options = { targetFormat: 'woff2', noLayoutClosure: true } as const;
        const source = await subsetFont(readFileSync(fileOf(name)), wanted, options);
        made.set(name, this.emitFile({ type: 'asset', name: `source-serif-${name}.woff2`, source }));
      }
      const licence = readFileSync(join(folder, 'LICENSE_FONT'));
      this.emitFile({ type: 'asset', fileName: 'assets/source-serif-licence.txt', source: licence });
    },
    resolveId: (id) => (id === 'virtual:typeface' ? '\0virtual:typeface' : undefined),
    load(id) {
      if (id !== '\0virtual:typeface') return;
      const addressOf = (name: string): string =>
        building ? `import.meta.ROLLUP_FILE_URL_${made.get(name)}` : JSON.stringify(`/@fs${fileOf(name)}`);
      const files = styles.map(
        ({ name, weight, style }) => `{ address: ${addressOf(name)}, weight: '${weight}', style: '${style}' }`,
      );
      return `export const files = [${files.join(', ')}];`;
    },
  };
}
