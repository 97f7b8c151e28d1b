// Refused calls of a KV cache, which must leave it unchanged.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, StateError } from 'ropewalk';
import { detached, randomArray } from '../support/arrays.mjs';
import { notABoolean, notAChoice, notAnInteger, notOptions, notPositions, required } from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { inUse } from '../support/peak.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const stranger = await load({ simd: 'deterministic' });
const sizes = { kvHeads: 2, headDim: 8 };
const tokens = (count, heads = 2, dim = 8) => randomArray([1, heads, count, dim], count + dim);
const count = { min: 1, max: 2 ** 30 };
const last = 2 ** 53 - 1;

await onEachBuild((rw) => {
  const plan = rw.rope({ headDim: 8 });
  const narrow = rw.rope({ headDim: 4 });
  const xpos = rw.rope({ headDim: 8, xpos: { scaleBase: 512 } });
  const threeAxes = rw.rope({ headDim: 8, axes: { layout: 'sections', sections: [2, 1, 1] } });
  const gone = rw.rope({ headDim: 8 });
  gone.dispose();
  const make = (options) => rw.kvCache({ ...sizes, ...options }).dispose();

  testAllRefusals(rw, 'kvCache', {
    options: [notOptions, (value) => rw.kvCache(value)],
    batch: [notAnInteger(count), (batch) => make({ batch })],
    kvHeads: [required(notAnInteger(count)), (kvHeads) => rw.kvCache({ headDim: 8, kvHeads })],
    headDim: [required(notAnInteger(count)), (headDim) => rw.kvCache({ kvHeads: 1, headDim })],
    valueDim: [notAnInteger(count), (valueDim) => make({ valueDim })],
    capacity: [notAnInteger({ min: 0, max: 2 ** 30 }), (capacity) => make({ capacity })],
    growing: [notABoolean, (growing) => make({ growing })],
    storage: [notAChoice, (storage) => make({ storage })],
    rope: [notOptions, (rope) => make({ rope })],
    'rope.keys': [notAChoice, (keys) => make({ rope: { plan, keys } })],
    window: [notOptions, (window) => make({ window })],
    'window.size': [required(notAnInteger(count)), (size) => make({ window: { size } })],
    'window.sinkTokens': [
      notAnInteger({ min: 0, max: 2 ** 30 }),
      (sinkTokens) => make({ window: { size: 1, sinkTokens } }),
    ],
    'window.positions': [notAChoice, (positions) => make({ window: { size: 1, positions } })],
  });
  testUnknownOptions(rw, 'kvCache', ['heads', 'valuedim', 'plan'], make);
  testUnknownOptions(rw, 'kvCache window', ['left', 'sink'], (more) => make({ window: { size: 1, ...more } }));
  testUnknownOptions(rw, 'kvCache rope', ['base'], (more) => make({ rope: { plan, ...more } }));
  testMisfits(rw, 'kvCache', {
    'the old name of sink tokens': [
      RangeError,
      ['window.sinks', 'sinkTokens', 'logits'],
      () => make({ window: { size: 1, sinks: 4 } }),
    ],
    'a fixed capacity that nobody gives': [RangeError, 'capacity', () => make({ growing: false })],
    'keys that are no whole blocks': [
      RangeError,
      ['headDim', '8', 'q8_0', '32'],
      () => make({ storage: 'q8_0', valueDim: 32 }),
    ],
    'values that are no whole blocks': [
      RangeError,
      ['valueDim', '48', 'q8_0', '32'],
      () => make({ storage: 'q8_0', headDim: 64, valueDim: 48 }),
    ],
    'a format that caches do not have': [
      RangeError,
      ['storage', 'q4_0', 'float32', 'float16', 'q8_0'],
      () => make({ storage: 'q4_0' }),
    ],
    'a window larger than a fixed capacity': [
      RangeError,
      ['capacity', '9', '10'],
      () => make({ capacity: 9, window: { size: 8, sinkTokens: 2 } }),
    ],
    'a plan that is none': [TypeError, 'rope.plan', () => make({ rope: { plan: {} } })],
    'a plan of another head size': [RangeError, ['rope.plan', '4', '8'], () => make({ rope: { plan: narrow } })],
    'a plan that was disposed': [StateError, 'rope.plan', () => make({ rope: { plan: gone } })],
    'a plan of another instance': [
      StateError,
      ['rope.plan', 'another instance'],
      () => make({ rope: { plan: stranger.rope({ headDim: 8 }) } }),
    ],
    'a window over several axes': [
      RangeError,
      ['window', '3'],
      () => make({ rope: { plan: threeAxes }, window: { size: 4 } }),
    ],
    'more than the heap can hold': [Error, 'kvCache', () => make({ capacity: 2 ** 30 })],
  });

  // The same cache for all: what is refused leaves no trace.
  const fixed = rw.kvCache({ ...sizes, capacity: 5 }).append(tokens(4), tokens(4));
  const roped = rw.kvCache({ ...sizes, rope: { plan } }).append(tokens(6), tokens(6));
  const windowed = rw.kvCache({ ...sizes, window: { size: 3, sinkTokens: 1 } }).append(tokens(9), tokens(9));
  windowed.append(tokens(2), tokens(2));
  const rebased = rw.kvCache({ ...sizes, window: { size: 3, positions: 'rebased' } });
  const axes = rw.kvCache({ ...sizes, rope: { plan: threeAxes } }).append(tokens(2), tokens(2));
  const unrotated = rw.kvCache({ ...sizes, rope: { plan, keys: 'unrotated' } }).append(tokens(2), tokens(2));
  const interleaved = rw.rope({ headDim: 8, pairing: 'interleaved' });
  const paired = rw.kvCache({ ...sizes, rope: { plan: interleaved, keys: 'unrotated' } });
  const all = [fixed, roped, windowed, rebased, axes, unrotated];
  const states = all.map((cache) => new Uint8Array(cache.save()));
  const one = tokens(1);
  const q = tokens(1, 4);
  const other = rw.kvCache({ ...sizes, rope: { plan } }).append(tokens(3), tokens(3));
  const twin = axes.copyPrefix(1);
  const foreign = stranger.kvCache(sizes);

  testAllRefusals(rw, 'kvCache.append', {
    options: [notOptions, (options) => roped.append(one, one, options)],
    layout: [notAChoice, (layout) => roped.append(one, one, { layout })],
    kvHeads: [notAnInteger(count), (kvHeads) => roped.append(one, one, { kvHeads })],
    positions: [notPositions(3), (positions) => fixed.append(tokens(3), tokens(3), { positions })],
    offset: [notAnInteger({ min: -last, max: last }), (offset) => roped.append(one, one, { offset })],
  });
  testAllRefusals(rw, 'kvCache.attend', {
    options: [notOptions, (options) => roped.attend(q, options)],
    causal: [notABoolean, (causal) => roped.attend(q, { causal })],
  });
  testAllRefusals(rw, 'kvCache.truncate', {
    length: [required(notAnInteger({ min: 0, max: 6 })), (length) => roped.truncate(length)],
  });
  testAllRefusals(rw, 'kvCache.copyPrefix', {
    length: [notAnInteger({ min: 0, max: 6 }), (length) => roped.copyPrefix(length)],
  });
  testAllRefusals(rw, 'kvCache.drop', {
    first: [required(notAnInteger({ min: 0, max: 6 })), (first) => roped.drop(first, 0)],
    count: [required(notAnInteger({ min: 0, max: 4 })), (n) => roped.drop(2, n)],
  });
  testAllRefusals(rw, 'kvCache.shift', {
    by: [required(notAnInteger({ min: -last, max: last })), (by) => roped.shift(by)],
    range: [notOptions, (range) => roped.shift(1, range)],
    first: [notAnInteger({ min: 0, max: 6 }), (first) => roped.shift(1, { first })],
    count: [notAnInteger({ min: 0, max: 4 }), (n) => roped.shift(1, { first: 2, count: n })],
  });
  testAllRefusals(rw, 'kvCache.merge', {
    options: [notOptions, (options) => roped.merge(other, options)],
    first: [notAnInteger({ min: 0, max: 3 }), (first) => roped.merge(other, { first })],
    count: [notAnInteger({ min: 0, max: 2 }), (n) => roped.merge(other, { first: 1, count: n })],
    at: [notAnInteger({ min: 6, max: last }), (at) => roped.merge(other, { at })],
  });
  testUnknownOptions(rw, 'kvCache.append', ['at', 'heads'], (more) => roped.append(one, one, more));
  testUnknownOptions(rw, 'kvCache.attend', ['keyPositions', 'kvHeads'], (more) => roped.attend(q, more));
  testUnknownOptions(rw, 'restoreKvCache', ['plans'], (more) => rw.restoreKvCache(new ArrayBuffer(8), more));

  const wide = tokens(1, 2, 6);
  testMisfits(rw, 'kvCache', {
    'tokens beyond a fixed capacity': [
      RangeError,
      ['append', 'k', '2 tokens', 'room for 1', '5'],
      () => fixed.append(tokens(2), tokens(2)),
    ],
    'keys of another head size': [RangeError, ['k', '6', '8'], () => roped.append(wide, one)],
    'values of another head size': [RangeError, ['v', '6', '8'], () => roped.append(one, wide)],
    'keys of other heads': [RangeError, ['k', '4', '2'], () => roped.append(tokens(1, 4), one)],
    'values of other heads': [RangeError, ['v', '4', '2'], () => roped.append(one, tokens(1, 4))],
    'another batch': [RangeError, ['k', 'batch', '3'], () => roped.append(randomArray([3, 2, 1, 8]), one)],
    'values of another length': [RangeError, ['v', '2', '1'], () => roped.append(one, tokens(2))],
    'packed keys of other heads': [
      RangeError,
      ['kvHeads', '4', '2'],
      () => roped.append(randomArray([1, 1, 16]), randomArray([1, 1, 16]), { kvHeads: 4 }),
    ],
    'keys that are no array': [TypeError, 'k', () => roped.append(new Float32Array(16), one)],
    'both offset and positions': [RangeError, 'offset', () => roped.append(one, one, { offset: 9, positions: [9] })],
    'an offset behind the last token': [RangeError, ['offset', '5'], () => roped.append(one, one, { offset: 5 })],
    'positions that do not ascend': [
      RangeError,
      ['positions[1]', '7'],
      () => roped.append(tokens(2), tokens(2), { positions: [7, 7] }),
    ],
    'positions of another length': [RangeError, 'positions', () => roped.append(one, one, { positions: [7, 8] })],
    'positions of another number of axes': [
      RangeError,
      ['positions', '3'],
      () => axes.append(one, one, { positions: [[7], [8]] }),
    ],
    'positions where the window moves tokens': [RangeError, 'offset', () => rebased.append(one, one, { offset: 9 })],
    'queries of another head size': [RangeError, ['q', '6', '8'], () => roped.attend(tokens(1, 4, 6))],
    'queries of heads that do not fit': [RangeError, ['q', '3', '2'], () => roped.attend(tokens(1, 3))],
    'queries of another batch': [RangeError, ['q', 'batch'], () => roped.attend(randomArray([2, 4, 1, 8]))],
    'a rotary encoding beside its own': [
      RangeError,
      ['position', 'rope'],
      () => roped.attend(q, { position: { encoding: 'rope', plan } }),
    ],
    'a window beside its own': [RangeError, 'window', () => windowed.attend(q, { window: { left: 2 } })],
    'sink tokens beside its own': [RangeError, 'sinkTokens', () => windowed.attend(q, { sinkTokens: 2 })],
    'queries whose window has left': [RangeError, ['queryOffset', '7'], () => windowed.attend(q, { queryOffset: 7 })],
    'a length whose window has left': [RangeError, ['length', '2'], () => windowed.truncate(2)],
    'a prefix whose window has left': [RangeError, ['length', '2'], () => windowed.copyPrefix(2)],
    'an offset of queries on several axes': [RangeError, 'queryOffset', () => axes.attend(q, { queryOffset: 0 })],
    'lengths of keys on several axes': [RangeError, 'keyLengths', () => axes.attend(q, { keyLengths: [1, 2] })],
    'more queries than tokens on several axes': [RangeError, ['q', '3', '2'], () => axes.attend(tokens(3, 4))],
    'a mask of no broadcast': [
      RangeError,
      'mask',
      () => roped.attend(q, { mask: { data: [true, false], shape: [2] } }),
    ],
    'a softcap of 0': [RangeError, ['softcap', '0'], () => roped.attend(q, { softcap: 0 })],
    'a shift onto others': [RangeError, ['by', '3'], () => roped.shift(3, { count: 2 })],
    'a shift beyond 2^53 - 1': [RangeError, 'by', () => roped.shift(last - 4)],
    'a switch of the pairing of unrotated keys': [
      RangeError,
      ['plan', "'interleaved'", "'half'"],
      () => unrotated.switchTo(interleaved),
    ],
    'a merge with unrotated keys of another pairing': [
      RangeError,
      ['other', "'interleaved'", "'half'"],
      () => unrotated.merge(paired),
    ],
    'a switch to no plan': [TypeError, 'plan', () => roped.switchTo({})],
    'a switch to another head size': [RangeError, ['plan', '4', '8'], () => roped.switchTo(narrow)],
    'a switch to xPos': [RangeError, 'plan', () => roped.switchTo(xpos)],
    'a switch to several axes': [RangeError, ['plan', '3', '1'], () => roped.switchTo(threeAxes)],
    'a switch to a disposed plan': [StateError, 'plan', () => roped.switchTo(gone)],
    'a switch to another instance': [StateError, 'another', () => roped.switchTo(stranger.rope({ headDim: 8 }))],
    'a switch without rope': [RangeError, 'plan', () => fixed.switchTo(plan)],
    'a merge with nothing': [TypeError, 'other', () => roped.merge({})],
    'a merge with itself': [RangeError, 'other', () => roped.merge(roped)],
    'a merge of another storage': [RangeError, 'other', () => fixed.merge(roped)],
    'a merge with another instance': [StateError, 'another instance', () => fixed.merge(foreign)],
    'a merge of several axes': [RangeError, ['other', 'axes'], () => axes.merge(twin)],
    'a merge beyond the capacity': [
      RangeError,
      ['other', 'room for 1'],
      () => {
        const more = rw.kvCache(sizes).append(tokens(2), tokens(2));
        try {
          fixed.merge(more);
        } finally {
          more.dispose();
        }
      },
    ],
  });

  test('what was refused has left no trace', () => {
    all.forEach((cache, i) => {
      assert.deepEqual(new Uint8Array(cache.save()), states[i]);
    });
  });

  test('queries that are the last tokens stand one after the other', () => {
    const cache = rw.kvCache(sizes).append(tokens(6), tokens(6)).drop(3, 2);
    const refused = { name: 'ArgumentRangeError', message: /queryOffset is missing/ };
    assert.throws(() => cache.attend(tokens(2, 4)), refused);
    cache.attend(tokens(2, 4), { queryOffset: 4 });
    cache.attend(q);
    cache.dispose();
  });

  test('a plan that was disposed is refused as long as its keys are there', () => {
    const [first, second] = [rw.rope({ headDim: 8 }), rw.rope({ headDim: 8, base: 10 })];
    const cache = rw
      .kvCache({ ...sizes, rope: { plan: first } })
      .append(tokens(2), tokens(2))
      .switchTo(second);
    cache.append(one, one);
    first.dispose();
    const before = inUse(rw);
    const calls = [
      () => cache.keys(),
      () => cache.attend(q),
      () => cache.append(one, one),
      () => cache.save(),
      () => cache.copyPrefix(),
      () => cache.switchTo(plan),
      () => cache.merge(other),
      () => other.merge(cache),
    ];
    for (const call of calls) assert.throws(call, { name: 'StateError', message: /plan/ });
    assert.deepEqual(inUse(rw), before);
    assert.equal(cache.drop(0, 2).attend(q).out.data.length, 32);
    second.dispose();
    assert.throws(() => cache.attend(q), StateError);
    cache.dispose();
  });

  test('a saved cache that was cut or altered anywhere is refused', () => {
    const bytes = new Uint8Array(other.save());
    const refused = (data, argument) =>
      assert.throws(() => rw.restoreKvCache(data, { plan }), { name: 'ArgumentRangeError', argument });
    const before = inUse(rw);
    for (let size = 0; size < bytes.length; ++size) refused(bytes.slice(0, size), 'buffer');
    for (let i = 0; i < bytes.length; ++i) {
      const altered = bytes.slice();
      altered[i] ^= 1 << (i % 8);
      refused(altered, 'buffer');
    }
    refused(Uint8Array.of(...bytes, 0, 0, 0, 0, 0, 0, 0, 0), 'buffer');
    refused(new ArrayBuffer(0), 'buffer');
    assert.deepEqual(inUse(rw), before);
    rw.restoreKvCache(bytes, { plan }).dispose();
  });

  const saved = other.save();
  const wrongPlan = rw.rope({ headDim: 8, base: 9999 });
  testMisfits(rw, 'restoreKvCache', {
    'a missing plan': [RangeError, 'plan', () => rw.restoreKvCache(saved)],
    'another plan': [RangeError, 'plan', () => rw.restoreKvCache(saved, { plan: [wrongPlan, narrow] })],
    'something that is no plan': [TypeError, 'plan[1]', () => rw.restoreKvCache(saved, { plan: [plan, {}] })],
    'a disposed plan': [StateError, 'plan', () => rw.restoreKvCache(saved, { plan: gone })],
    'a plan of another instance': [
      StateError,
      'another',
      () => rw.restoreKvCache(saved, { plan: stranger.rope({ headDim: 8 }) }),
    ],
    'a version of the future': [
      RangeError,
      ['buffer', 'version'],
      () => {
        const bytes = new Uint8Array(saved.slice(0));
        bytes[8] = 3;
        rw.restoreKvCache(bytes, { plan });
      },
    ],
    'a buffer of another kind': [TypeError, 'buffer', () => rw.restoreKvCache(new Float32Array(8), { plan })],
    'no buffer': [TypeError, 'buffer', () => rw.restoreKvCache(undefined, { plan })],
    'a detached buffer': [TypeError, 'buffer', () => rw.restoreKvCache(detached(new Uint8Array(8)).buffer, { plan })],
  });
});
