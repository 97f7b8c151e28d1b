// firstJson() against JSON.parse, on texts cut at every length.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { firstJson } from 'ropewalk/models';
import { required, wrongType } from '../support/bad-values.mjs';
import { testAllRefusals } from '../support/refusals.mjs';

const values = [
  {},
  [],
  [[], {}, [[{}]]],
  { a: 1, b: [true, false, null, -1.5e-3] },
  { '}': ']', '"': '\\', '\\"': '{["', nested: { text: 'a "quoted" \\ } ] line\n\u0007' } },
  ['\\\\', '\\"', 'é', '漢字', '😀', ''],
];

test('a value ends with the character that makes it whole, whatever is around it', () => {
  for (const value of values) {
    for (const json of [JSON.stringify(value), JSON.stringify(value, null, 2)]) {
      for (const before of ['', 'Sure, here it is: ', '```json\n', ']} "open ']) {
        const text = `${before}${json}`;
        for (let length = 0; length < text.length; ++length) {
          assert.equal(firstJson(text.slice(0, length)), undefined, text.slice(0, length));
        }
        for (const after of ['', ' ', '}', ' {"more": 1}', '\n```']) assert.equal(firstJson(text + after), json);
      }
    }
  }
});

test('brackets around something else are passed over', () => {
  assert.equal(firstJson('{name} and [see below]: {"a": [1]}'), '{"a": [1]}');
  assert.equal(firstJson('{a: {"b": 1}}'), '{"b": 1}');
  assert.equal(firstJson('Sure :[ here it is: {"a": 1} done'), '{"a": 1}');
  assert.equal(firstJson('f(x) = { x if {"a": 1}'), '{"a": 1}');
  assert.equal(firstJson('{5" screen} {"a": 1} "'), '{"a": 1}');
  assert.equal(firstJson('[sic [ true, -1 ]'), '[ true, -1 ]');
  assert.equal(firstJson('type {" and then {"a": 1}'), '{"a": 1}');
  assert.equal(firstJson('[3 apples] and [2 pears: {"a": 1}'), '{"a": 1}');
  assert.equal(firstJson('{"a": None, "b": {"c": [1]}'), '{"c": [1]}');
  assert.equal(firstJson('[1, 2} [3]'), '[3]');
  assert.equal(firstJson("{'a': 1}"), undefined);
  assert.equal(firstJson('12, "text", true'), undefined);
  assert.equal(firstJson('{"a": 1,}'), undefined);
});

test('a number, text or space that JSON has not is found by one look at the brackets around it', () => {
  const depth = 10_000;
  for (const bad of ['01', '1.', '"\\x"', '"\n"', '\u00a01']) {
    const before = process.cpuUsage();
    assert.equal(firstJson(`${'{"a":'.repeat(depth)}${bad}${'}'.repeat(depth)} [2]`), '[2]', bad);
    const { user } = process.cpuUsage(before);
    assert.ok(user < 5e6, bad); // some 10 ms; a look from each bracket takes half a minute
  }
});

testAllRefusals(await load(), 'firstJson', {
  text: [
    required([wrongType(5, '5'), wrongType(null, 'null'), wrongType({}, 'an object')]),
    (value) => firstJson(value),
  ],
});
