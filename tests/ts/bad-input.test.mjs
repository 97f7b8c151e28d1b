// Every public function, argument and option with every value of a table, by the declaration files: an error that tells
// what is wrong, or a result; never more memory, nor other bits of the next good call. An export without a call in the table
// of tests/ts/support/calls.mjs fails.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { load } from 'ropewalk';
import { errorNames } from './support/bad-values.mjs';
import { attempt, hasGrown, isPlain, makeCalls, memoryOf, methodOf } from './support/calls.mjs';
import { openDeclarations } from './support/declared.mjs';
import { hostileValues } from './support/hostile-values.mjs';

const all = await makeCalls();
const other = await load();
const values = hostileValues(all, other);
const declared = openDeclarations(Object.fromEntries(Object.entries(values).map(([name, { type }]) => [name, type])));
after(() => declared.close());
const functions = declared.functions();

/** Paths of all arguments and options of a call, [[0], [1, 'scale']]: those that are given, and those that are declared. */
function pathsOf(type, args, count) {
  const paths = [];
  const walk = (value, types, path) => {
    paths.push({ path, types });
    if (Array.isArray(value) && value.length > 0) {
      for (const at of new Set([0, value.length - 1]))
        walk(value[at], declared.propertyTypes(types, String(at)), [...path, at]);
    }
    if (!isPlain(value)) return;
    const names = new Set([...Object.keys(value), ...declared.propertyNames(types)]);
    if ('shape' in value) names.delete('dims'); // is not read then
    for (const name of names) {
      const inner = declared.propertyTypes(types, name);
      if (name in value) walk(value[name], inner, [...path, name]);
      else paths.push({ path: [...path, name], types: inner });
    }
  };
  for (let i = 0; i < count; ++i) walk(args[i], declared.parameterTypes(type, i), [i]);
  return paths;
}

/** The arguments with `value` at a path, without a change of what they are made of. */
function replaced(args, [first, ...rest], value) {
  if (rest.length === 0) return assign(args, first, value);
  return assign(args, first, replaced(args[first], rest, value));
}

function assign(object, name, value) {
  const copy = Array.isArray(object) ? [...object] : { ...object };
  Object.defineProperty(copy, name, { value, enumerable: true, writable: true, configurable: true });
  return copy;
}

function problemOf(name, { error }, mustFail) {
  if (error === undefined) return mustFail ? 'was accepted' : undefined;
  if (own.test(error?.message)) return undefined;
  if (ofCalls.has(error?.name) && !error.message.startsWith(`${calledAs(name)}: `))
    return `has a message of another call: ${error.message}`.slice(0, 300);
  if (!errorNames.has(error?.name)) return `threw ${error?.name}: ${error?.message}`.slice(0, 300);
  if (error.message.length > 2100) return `has a message of ${error.message.length} characters`;
  return undefined;
}

// Messages begin with the name of the call; those of other errors with that of a file.
const ofCalls = new Set(['ArgumentTypeError', 'ArgumentRangeError', 'StateError', 'OutOfMemoryError']);
const objects = {
  ...{ Ropewalk: '', Training: '', RopePlan: 'rope.', TransformerLayer: 'decoderLayer.', Task: 'copyTask.' },
  ...{ DecoderModel: 'model.', EncoderModel: 'model.', EncoderDecoderModel: 'model.' },
};

/** What a call is called in messages: a method with the name of what made its object, or of its class. */
function calledAs(name) {
  const [owner, method] = name.split(',')[0].split('.');
  if (method === undefined) return owner;
  return (objects[owner] ?? `${owner[0].toLowerCase()}${owner.slice(1)}.`) + method;
}

const idOf = (wanted) => Object.entries(values).find(([, { label }]) => label === wanted)[0];
const aList = idOf('array: [4]');
const anIntegerList = idOf('typed array: Int32Array');

// Thrown by a value that was asked or called.
const own = /^(mine|Class constructor|Cannot perform 'apply')/;

// Accepted where the declarations know more than the call asks: what a key that may be left out holds, entries of lists of
// ids, stored values that are NaN.
const loose = {
  'Trainer.setParameters': /^0\.embedding, undefined/,
  'DecoderModel.generate': /^1\.stop\.0, BigInt/,
  'EncoderDecoderModel.generate': /^1\.stop\.0, BigInt/,
  'CharactersTask.decode': /^0\.[01], BigInt/,
  compare: /^2\.logits\.data\.0, NaN/,
};

// A weight may come without a shape, or with null in its place.
const noShape = /^0\.(bias|weights\.\w+)\.shape, null/;

// Passes of models and trainers keep the memory that they needed.
const keeps = /^(DecoderModel\.|EncoderModel\.|EncoderDecoderModel\.|Trainer\.|perplexity|lengthCurve)/;

/** Whether a value must be refused where the declarations have these types. */
function isWrong(types, id) {
  const { kind, type, never } = values[id];
  if (types.length === 0 || declared.takesAnything(types)) return false;
  if (never || (kind === 'NaN' && declared.isNumber(types))) return true;
  if (type === 'number' && declared.isLiteral(types)) return false;
  if (kind === 'function' && declared.isCalled(types)) return false;
  if (kind === 'shared' || kind === 'resizable') return false; // may be taken where other memory is
  // A list of numbers may be of any kind.
  if (kind === 'typed array' && [anIntegerList, aList].some((list) => declared.takes(types, list))) return false;
  return !declared.takes(types, id);
}

async function check(name) {
  const { bits: wanted } = await attempt(all, name);
  const type = functions.get(name.split(',')[0]);
  const given = all.calls[name][1]();
  const parameters = declared.parameterCount(type);
  const problems = [];
  for (const { path, types } of pathsOf(type, given, Math.max(parameters, given.length))) {
    for (const [id, { label, make }] of Object.entries(values)) {
      const before = memoryOf(all);
      const outcome = await attempt(all, name, undefined, (_target, args) => replaced(args, path, make()));
      const hasLeft = hasGrown(all, before) && !(keeps.test(name) && !outcome.error);
      const problem =
        problemOf(name, outcome, isWrong(types, id)) ?? (hasLeft ? `left ${memoryOf(all)}, had ${before}` : undefined);
      const what = `${path.join('.')}, ${label}`;
      if (problem !== undefined && !loose[name]?.test(what) && !noShape.test(what)) problems.push(`${what} ${problem}`);
    }
    const { bits } = await attempt(all, name);
    if (bits !== wanted) problems.push(`${path.join('.')}: the next good call gave other bits`);
  }
  return problems;
}

for (const name of Object.keys(all.calls)) {
  test(`${name} takes or refuses any value anywhere`, async () => {
    assert.deepEqual(await check(name), []);
  });
}

// What makes a target of its class anew, by the call that disposes of it.
const makerOf = (name) => all.calls[`${name.split('.')[0]}.dispose`]?.[0];
const staysKnown = /\.(dispose|has)$/; // the names in an open file

for (const name of Object.keys(all.calls).filter((each) => makerOf(each) && !staysKnown.test(each))) {
  test(`${name} refuses what was disposed of, by its name`, async () => {
    const target = await makerOf(name)();
    target.dispose();
    const [, args] = all.calls[name];
    const call = async () => {
      const result = target[methodOf(name)](...args());
      return result?.next === undefined ? result : result.next();
    };
    await assert.rejects(call, (error) => {
      assert.equal(error.name, 'StateError', error.stack);
      // Not by its class, which has no name in a minified program.
      assert.ok(error.message.startsWith(`${calledAs(name)}: `), error.message);
      assert.match(error.message.slice(`${calledAs(name)}: `.length), /^this (object|file) was disposed$/);
      return true;
    });
  });
}

// What needs nothing that this table has: the two sides of a worker, and those that tests/ts/external.test.mjs calls. And
// what ends a whole instance, in tests/ts/training/threads.test.mjs.
const elsewhere =
  /^(expose|transfer|wrap|MessageEndpoint\..*|StoredFile\.delete|EncoderModel\.(generate|withRope)|Training\.dispose)$/;
const abstract = /^(Handle|Layer|Model|TensorFile|Instance|ThreadWorker|TrainingBatch)\./;

test('of every public function there is a call', () => {
  const called = new Set(Object.keys(all.calls).map((name) => name.split(',')[0]));
  const missing = [...functions.keys()].filter(
    (name) => !called.has(name) && !elsewhere.test(name) && !abstract.test(name),
  );
  assert.deepEqual(missing, []);
  assert.ok(functions.size > 130, `${functions.size}`);
});
