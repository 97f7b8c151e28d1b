// How far each family is from the float64 reference: printed, and no more than docs/models.md says.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { difference, flat, largest } from './rows.mjs';

const page = readFileSync(new URL('../../docs/models.md', import.meta.url), 'utf8');

// By family; some have several rows.
const stated = new Map();
for (const [, names, number] of page.matchAll(/^\| ([^|]+) \| .* \| ([\d.]+e-\d+) \|$/gm)) {
  for (const name of names.split(', ')) stated.set(name, Math.max(stated.get(name) ?? 0, Number(number)));
}

const found = new Map();

/** The largest difference of any number of `got` from the float64 reference, as a part of the largest number. */
export function tellDifference(t, { config }, got, exact) {
  const want = flat(exact);
  const share = difference(want, Array.from(got.data)) / largest(want);
  t.diagnostic(`largest difference from float64: ${share.toExponential(1)}`);
  const family = (config.text_config ?? config).model_type.replace(/_text$/, '');
  found.set(family, Math.max(found.get(family) ?? 0, share));
}

/** A test, after those of all models. */
export function testDifferences() {
  test('the largest difference of each family from float64 is that of docs/models.md, or less', (t) => {
    const further = [];
    for (const [family, share] of [...found].sort()) {
      const [text, most] = [share, stated.get(family) ?? 0].map((each) => each.toExponential(1));
      t.diagnostic(`${family}: ${text}; docs/models.md: ${most}`);
      if (Number(text) > Number(most)) further.push(family);
    }
    assert.deepEqual(further, []);
  });
}
