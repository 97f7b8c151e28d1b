// One short experiment of `npm run lab`: order matters.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failures } from '../../lab/experiment.mjs';
import { order } from '../../lab/order.mjs';

test('learned positions name the previous token, and a model without positions cannot', (t) => {
  t.mock.method(console, 'log', () => {});
  order([0], { names: ['none', 'learned'], steps: 240 });
  assert.deepEqual(failures(), []);
});
