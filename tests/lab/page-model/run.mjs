// Trains the small model that ships with the page: npm run train:page-model. `-- check` only says how good the one is that
// is there, `-- passage` writes the text that the page measures it with. Exit code 1: it is not good enough.
import { Tokenizer } from '@huggingface/tokenizers';
import { load } from 'ropewalk';
import { failures } from '../experiment.mjs';
import { encodeAll, trainTokenizer } from './bpe.mjs';
import { writeModel, writePassage } from './files.mjs';
import { novels } from './text.mjs';
import { trainModel } from './train.mjs';

const vocab = 512;
const heldOut = 0.05; // the end of each novel

const texts = novels();
const parts = (from, to) => texts.map((text) => text.slice(from * text.length, to * text.length)).join('\n');
const [seen, unseen] = [parts(0, 1 - heldOut), parts(1 - heldOut, 1)];

if (process.argv[2] === 'passage') {
  const novel = texts.find((text) => text.startsWith('Persuasion'));
  writePassage(novel.slice((1 - heldOut) * novel.length));
  process.exit();
}
if (process.argv[2] !== 'check') {
  const { user } = process.cpuUsage();
  const rules = trainTokenizer(seen, vocab);
  const ids = encodeAll(new Tokenizer(rules, {}), seen);
  console.log(`${seen.length} characters, ${ids.length} tokens of ${vocab}`);
  const trainer = trainModel(ids, vocab, console.log);
  await writeModel(await load(), trainer.exportModel(), rules);
  trainer.dispose();
  console.log(`trained in ${((process.cpuUsage().user - user) / 1e6).toFixed(0)} s of processor time`);
}
const { checkModel } = await import('./check.mjs');
await checkModel(seen, unseen);
if (failures().length > 0) process.exitCode = 1;
