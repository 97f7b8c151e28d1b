// The core through its bindings (bindings/embind/library.js): numbers, booleans and objects have the values of C++.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import createCore from '../../build/package/core.mjs';

const module = new WebAssembly.Module(readFileSync(new URL('../../dist/core.wasm', import.meta.url)));
const makeCore = () =>
  createCore({ instantiateWasm: (imports, receive) => receive(new WebAssembly.Instance(module, imports)) });

test('sizes and addresses beyond 2^31 are no negative numbers, and objects work there', async () => {
  const core = await makeCore();
  assert.ok(core.allocate(2 ** 31) > 0); // never written: it takes no memory of the machine
  const above = core.allocate(4096);
  assert.ok(above > 2 ** 31, `${above}`);
  assert.ok(core.bytesInUse() > 2 ** 31);
  const plan = new core.RopePlan();
  assert.ok(plan.address > 2 ** 31, `${plan.address}`);
  assert.equal(plan.pairs, 0);
  plan.delete();
});

test('a heap of 4 GiB that is full gives no block shorter than asked, and gives again what was freed', async () => {
  const core = await makeCore();
  const large = [core.allocate(1.9 * 2 ** 30), core.allocate(1.9 * 2 ** 30)];
  const small = [];
  for (let at = core.allocate(2 ** 22); at !== 0; at = core.allocate(2 ** 22)) small.push(at);
  assert.ok(small.length > 10, `${small.length}`);
  for (let at = 1; at < small.length; at += 2) core.release(small[at]);
  const before = core.bytesInUse();
  for (const size of [2 ** 30, 1.9 * 2 ** 30, 2 ** 31, 2 ** 32 - 2 ** 20, 2 ** 32 - 1])
    assert.equal(core.allocate(size), 0);
  assert.equal(core.bytesInUse(), before);
  core.release(large[0]);
  assert.equal(core.allocate(1.9 * 2 ** 30), large[0]);
  const again = small.map(() => core.allocate(2 ** 22)).filter((at) => at !== 0);
  assert.deepEqual(again.sort(), small.filter((_, i) => i % 2 === 1).sort());
});

test('a boolean is a boolean, and nothing is undefined', async () => {
  const core = await makeCore();
  assert.equal(core.isRelaxed(), false);
  assert.equal(core.resetPeak(), undefined);
});

test('an object goes where an address is wanted, null as none', async () => {
  const core = await makeCore();
  const plan = new core.RopePlan();
  assert.equal(Number(plan), plan.address);
  const fields = core.allocate(4096);
  core.HEAPU8.fill(0, fields, fields + 4096);
  for (const given of [plan, null]) assert.ok(new core.KvCache().create(fields, given) > 0); // a status: sizes of 0
});

test('two cores keep their objects and their types apart', async () => {
  const [one, two] = await Promise.all([makeCore(), makeCore()]);
  assert.notEqual(one.RopePlan, two.RopePlan);
  one.allocate(1 << 20);
  assert.ok(one.bytesInUse() > two.bytesInUse());
});

test('a deleted object is refused, as itself and where an address is wanted', async () => {
  const core = await makeCore();
  const plan = new core.RopePlan();
  plan.delete();
  const deleted = { message: 'this object of the core was deleted' };
  for (const use of [() => plan.pairs, () => plan.delete(), () => new core.KvCache().create(0, plan)]) {
    assert.throws(use, deleted);
  }
});
