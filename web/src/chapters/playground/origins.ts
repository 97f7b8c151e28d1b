// Where models come from that need no files of the reader: how a program gets them, and the files of the trained one. Fetched
// with the first model.

import { literal } from '../../programs/literal';
import type { CheckpointFiles } from './files';
import config from './model/config.json?url';
import weights from './model/model.safetensors?url';
import tokenizer from './model/tokenizer.json?url';
import type { Origin, Source } from './source';
import { shown } from './tiny-model.js?shown';

const addressOf = (url: string): string => new URL(url, location.href).href;

async function fetched(url: string, signal: AbortSignal): Promise<Blob> {
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new Error(`${addressOf(url)}: ${answer.status} ${answer.statusText}`);
  return answer.blob();
}

/** The files of the model that was trained for this page. */
export async function trainedFiles(signal: AbortSignal): Promise<CheckpointFiles> {
  const [ofConfig, ofWeights, ofTokenizer] = await Promise.all(
    [config, weights, tokenizer].map((url) => fetched(url, signal)),
  );
  return { config: ofConfig, weights: ofWeights, shards: {}, tokenizer: ofTokenizer } as CheckpointFiles;
}

/** How a program gets a model. */
export function originOf(source: Source): Origin {
  switch (source.kind) {
    case 'files':
      return {
        shown: {},
        lines: `// Yours, from a file picker: config.json, and model.safetensors or the index of several. Of a .gguf: { gguf: file }.
const config = JSON.parse(await files.config.text());
const { weights } = files;`,
      };
    case 'trained':
      return {
        shown: {},
        lines: `const config = await (await fetch(${literal(addressOf(config))})).json();
const weights = await (await fetch(${literal(addressOf(weights))})).blob();`,
      };
    default:
      return { shown, lines: `const { config, weights } = tinyModel(${literal(source.kind)}, ${source.seed});` };
  }
}
