// The attention of every head of every layer, one picture a head: row i shows where token i looks.
import { load } from 'ropewalk';
import { loadModel } from 'ropewalk/models';

const [files, ids, status, main] = ['#files', '#ids', '[role=status]', 'main'].map((s) => document.querySelector(s));
const rw = await load();
let model;

function picture(data, queries, keys) {
  const canvas = Object.assign(document.createElement('canvas'), { width: keys, height: queries });
  canvas.style.cssText = 'width: 8rem; height: 8rem; image-rendering: pixelated; border: 1px solid';
  const context = canvas.getContext('2d');
  const pixels = context.createImageData(keys, queries);
  for (let i = 0; i < queries * keys; ++i) {
    const shade = 255 * (1 - data[i]);
    pixels.data.set([shade, shade, 255, 255], 4 * i);
  }
  context.putImageData(pixels, 0, 0);
  return canvas;
}

function show() {
  if (model === undefined) return;
  main.replaceChildren();
  const tokens = ids.value.split(/\s+/).filter(Boolean).map(Number);
  const { captured } = model.forward(tokens, { capture: ['probabilities'] });
  for (const [layer, { probabilities }] of captured.entries()) {
    const [heads, queries, keys] = probabilities.shape;
    const heading = Object.assign(document.createElement('h2'), { textContent: `Layer ${layer}` });
    main.append(heading);
    for (let head = 0; head < heads; ++head) {
      const size = queries * keys;
      const canvas = picture(probabilities.data.subarray(head * size, (head + 1) * size), queries, keys);
      canvas.title = `layer ${layer}, head ${head}`;
      main.append(canvas);
    }
  }
}

async function told(work) {
  try {
    status.textContent = '';
    await work();
  } catch (error) {
    status.textContent = error.message; // names what is wrong, and what would be right
  }
}

files.addEventListener('change', () =>
  told(async () => {
    const [config, weights] = ['.json', '.safetensors'].map((end) =>
      [...files.files].find((f) => f.name.endsWith(end)),
    );
    model?.dispose();
    model = undefined;
    model = await loadModel(rw, { config: JSON.parse(await config.text()), weights });
    show();
  }),
);
ids.addEventListener('change', () => told(show));
