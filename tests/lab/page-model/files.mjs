// The files of the page's model, where the page has them.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { openSafetensors } from 'ropewalk/models';
import { encode } from '../../models/tiny/numbers.mjs';
import { writeSafetensors } from '../../ts/support/safetensors.mjs';

const folder = new URL('../../../web/src/chapters/playground/model/', import.meta.url);
const json = (name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8'));

/** What `exportModel` gives, its weights narrowed to float16, and its tokenizer.json. */
export async function writeModel(rw, { config, weights }, tokenizer) {
  const file = await openSafetensors(rw, weights);
  const tensors = {};
  for (const name of file.names) {
    const values = await file.tensor(name, { as: 'float32' });
    tensors[name] = { dtype: 'F16', shape: file.info(name).shape, data: encode('F16', values) };
  }
  file.dispose();
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL('config.json', folder), `${JSON.stringify({ ...config, torch_dtype: 'float16' }, null, 2)}\n`);
  writeFileSync(new URL('tokenizer.json', folder), `${JSON.stringify(tokenizer)}\n`);
  writeFileSync(new URL('model.safetensors', folder), writeSafetensors(tensors));
}

/** As `loadModel` takes it, and its tokenizer.json. */
export const readModel = () => ({
  config: json('config.json'),
  weights: readFileSync(new URL('model.safetensors', folder)),
  tokenizer: json('tokenizer.json'),
});

/** The passage that the model has not seen: the first whole paragraphs of a text. */
export function writePassage(text) {
  const most = 8000; // characters, as many as a reader may write
  const passage = text.slice(text.indexOf('\n') + 1);
  writeFileSync(new URL('passage.txt', folder), passage.slice(0, passage.lastIndexOf('\n', most - 1) + 1));
}
