// Writes a random model in Hugging Face's format: node tests/models/make.mjs NAME DIR [SHARDS]
// NAME is one of the tiny models (see families/), or smollm2-135m for a model of that shape with 270 MB.
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { safetensorsOf, shardsOf } from './tiny/files.mjs';
import { tinyModel, variants } from './tiny/models.mjs';
import { smollm2Config, smollm2Pieces } from './tiny/smollm2.mjs';

function writeTiny(name, folder, shards) {
  const model = tinyModel(name);
  const files = shards > 1 ? shardsOf(model, shards) : { 'model.safetensors': safetensorsOf(model) };
  for (const [file, bytes] of Object.entries(files)) writeFileSync(join(folder, file), bytes);
  return model.config;
}

function writeSmollm2(folder) {
  const file = openSync(join(folder, 'model.safetensors'), 'w');
  try {
    for (const piece of smollm2Pieces()) {
      for (let at = 0; at < piece.length; ) at += writeSync(file, piece, at);
    }
  } finally {
    closeSync(file);
  }
  return smollm2Config;
}

const [name, folder, shards = '1'] = process.argv.slice(2);
if (folder === undefined || !(Number(shards) >= 1)) {
  console.error(`use: node tests/models/make.mjs NAME DIR [SHARDS]\nNAME: smollm2-135m, ${variants.join(', ')}`);
  process.exitCode = 2;
} else {
  mkdirSync(folder, { recursive: true });
  const config = name === 'smollm2-135m' ? writeSmollm2(folder) : writeTiny(name, folder, Number(shards));
  writeFileSync(join(folder, 'config.json'), `${JSON.stringify(config, null, 2)}\n`);
}
