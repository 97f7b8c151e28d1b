// Writes the table of docs/models.md: checkpoints that loadModel takes by their config.json, from test vectors of the
// operation rope_config. node scripts/model-cards.mjs [FILE]; --check writes nothing and fails where the page differs.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readModelConfig } from 'ropewalk/models';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const page = join(root, 'docs', 'models.md');
const [begin, end] = ['<!-- npm run cards -->\n', '<!-- end -->'];

// Settings of another program, in files that it has changed.
const foreign = ['context_window_size', 'prefill_chunk_size', 'sliding_window_size', 'attention_sink_size'];
const withoutGguf = ['deberta-v2', 'gptj', 'llama4', 'marian', 'opt', 'roformer', 'ropewalk', 'xlnet'];

// The weights of matrices; norms and biases are a thousandth of them. A decoder behind an encoder attends twice.
function parametersOf({ modelDim, vocabSize, heads, kvHeads, headDim, layers, tiedEmbeddings, kind, decoder }) {
  const attention = 2 * modelDim * headDim * (heads + kvHeads);
  const own = (layers, times) =>
    layers.reduce((sum, { feedForward: { kind, hiddenDim, experts = 1 } }) => {
      return sum + times * attention + (kind === 'dense' ? 2 : 3) * experts * modelDim * hiddenDim;
    }, 0);
  const tables = vocabSize * modelDim * (tiedEmbeddings || kind === 'encoder' ? 1 : 2);
  return tables + own(layers, 1) + own(decoder?.layers ?? [], 2);
}

const short = (n) => (n >= 999.5e6 ? `${(n / 1e9).toFixed(1)} B` : `${Math.round(n / 1e6)} M`);

function ropeText(rope) {
  if (rope === null) return 'none';
  const { headDim, rotaryDim = headDim, base, pairing, scaling } = rope;
  const part = rotaryDim === headDim ? headDim : `${rotaryDim} of ${headDim}`;
  const scaled = scaling === undefined ? '' : `, ${scaling.type}${scaling.factor ? ` × ${scaling.factor}` : ''}`;
  return `RoPE of ${part}, ${pairing}, base ${base}${scaled}`;
}

// Each encoding of the layers, with how many have it where there are several.
function encodingOf({ layers, position }) {
  if (position !== 'rope') return position;
  const counts = new Map();
  for (const { rope, window } of layers) {
    const text = ropeText(rope) + (window === undefined ? '' : `, window ${window}`);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].map(([text, count]) => (counts.size > 1 ? `${count} layers: ${text}` : text)).join('; ');
}

/** A row for each checkpoint of the cases that fits: its name, family, encoding, size and formats. */
export function cardsOf(cases) {
  const rows = new Map();
  for (const { name, params } of cases) {
    // Cases with a layer's type or a length are the same file; those named for a class are no checkpoint.
    const checkpoint = name.replace(/ (full_attention|sliding_attention|\d+)$/, '');
    if (/Config$/.test(checkpoint) || rows.has(checkpoint)) continue;
    const config = Object.fromEntries(Object.entries(params.config).filter(([field]) => !foreign.includes(field)));
    try {
      const model = readModelConfig(config);
      const formats = `safetensors${withoutGguf.includes(model.architecture) ? '' : ', GGUF'}`;
      rows.set(checkpoint, [checkpoint, model.architecture, encodingOf(model), short(parametersOf(model)), formats]);
    } catch (error) {
      if (!/^Argument/.test(error.name)) throw error;
    }
  }
  return [...rows.values()].sort(([a, b], [c, d]) => b.localeCompare(d) || a.localeCompare(c));
}

/** The rows as a table in Markdown. */
export function tableOf(rows) {
  const lines = [['checkpoint', 'family', 'positions', 'weights', 'files'], Array(5).fill('---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const check = process.argv.includes('--check');
  const given = process.argv.slice(2).find((argument) => !argument.startsWith('--'));
  const { cases } = JSON.parse(readFileSync(given ?? join(root, '..', 'shared', 'vectors', 'configs.json'), 'utf8'));
  const text = readFileSync(page, 'utf8');
  const [from, to] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
  const written = `${text.slice(0, from)}\n${tableOf(cardsOf(cases))}\n${text.slice(to)}`;
  if (!check) writeFileSync(page, written);
  else if (written !== text) throw new Error('docs/models.md has another table; run: npm run cards');
}
