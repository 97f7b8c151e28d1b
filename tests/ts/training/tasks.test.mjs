// Tasks: what they say is right is right, and a seed gives the same batches.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  charactersTask,
  copyTask,
  fetchByContentTask,
  fetchByPositionTask,
  inductionTask,
  load,
  reverseTask,
  skipLanguageTask,
  sortTask,
} from 'ropewalk/training';

const text = 'A rope is laid of strands; a strand is laid of yarns, and each turns against the next. '.repeat(4);
const tasks = {
  copyTask,
  reverseTask,
  sortTask,
  inductionTask,
  skipLanguageTask,
  fetchByPositionTask,
  fetchByContentTask,
  charactersTask: (options) => charactersTask(text, options),
};

// The sequences of a batch: { ids, targets, weights } of each.
function sequences({ ids, targets, weights }) {
  const [batch, tokens] = ids.shape;
  return Array.from({ length: batch }, (_, b) => {
    const row = (data) => [...data.subarray(b * tokens, (b + 1) * tokens)];
    return { ids: row(ids.data), targets: row(targets.data), weights: row(weights) };
  });
}

for (const [name, make] of Object.entries(tasks)) {
  describe(name, () => {
    test('gives ids and targets below vocab, and weights of 0 and 1', () => {
      const task = make({ tokens: 30 });
      const batch = task.batch(5);
      assert.equal(task.tokens, 30);
      assert.deepEqual(
        [batch.ids.shape, batch.targets.shape],
        [
          [5, 30],
          [5, 30],
        ],
      );
      for (const id of [...batch.ids.data, ...batch.targets.data]) assert.ok(id >= 0 && id < task.vocab, `${id}`);
      for (const weight of batch.weights) assert.ok(weight === 0 || weight === 1);
      assert.ok(batch.weights.some((weight) => weight === 1));
    });

    test('gives the same batches for a seed and a stream, whatever their sizes, and others for others', () => {
      const all = (options, sizes) => {
        const task = make({ tokens: 30, ...options });
        return sizes.flatMap((size) => sequences(task.batch(size)));
      };
      assert.deepEqual(all({ seed: 5 }, [4]), all({ seed: 5 }, [1, 3]));
      assert.notDeepEqual(all({ seed: 5 }, [4]), all({ seed: 6 }, [4]));
      assert.notDeepEqual(all({ seed: 5 }, [4]), all({ seed: 5 + 2 ** 40 }, [4]));
      assert.notDeepEqual(all({ seed: 5 }, [4]), all({ seed: 5, stream: 1 }, [4]));
    });

    test('refuses what does not fit', () => {
      for (const options of [{ tokens: 0 }, { seed: -1 }, { stream: 0.5 }, { length: 3 }]) {
        assert.throws(() => make(options), { name: 'ArgumentRangeError' });
      }
      assert.throws(() => make().batch(0), { name: 'ArgumentRangeError', argument: 'size' });
    });
  });
}

test('the best loss is 0 where ids tell what is right, the entropy of a language, and unknown of a text', () => {
  for (const [name, make] of Object.entries(tasks)) {
    const { bestLoss } = make();
    if (name === 'charactersTask') assert.equal(bestLoss, undefined, name);
    else if (name === 'skipLanguageTask') assert.ok(bestLoss > 0 && bestLoss < Math.log(16), `${bestLoss}`);
    else assert.equal(bestLoss, 0, name);
  }
});

test('batches and tables that no memory holds are refused', () => {
  const refused = (argument) => ({ name: 'ArgumentRangeError', argument });
  assert.throws(() => copyTask({ tokens: 2 ** 14 }).batch(2 ** 20), refused('size'));
  assert.throws(() => skipLanguageTask({ vocab: 2 ** 20 }), refused('vocab'));
});

test('copyTask names the id so many places before', () => {
  for (const { ids, targets, weights } of sequences(copyTask({ offset: 3, tokens: 9 }).batch(4))) {
    assert.deepEqual(targets.slice(3), ids.slice(0, -3));
    assert.deepEqual(weights, [0, 0, 0, 1, 1, 1, 1, 1, 1]);
  }
  assert.throws(() => copyTask({ offset: 32 }), { argument: 'offset' });
});

test('reverseTask and sortTask rearrange', () => {
  for (const { ids, targets } of sequences(reverseTask().batch(3))) assert.deepEqual(targets, [...ids].reverse());
  for (const { ids, targets } of sequences(sortTask().batch(3))) {
    assert.deepEqual(
      targets,
      [...ids].sort((a, b) => a - b),
    );
  }
});

test('inductionTask repeats with periods of distinct ids, and counts from the second period on', () => {
  const periods = new Set();
  for (const { ids, targets, weights } of sequences(inductionTask().batch(50))) {
    const period = ids.indexOf(ids[0], 1);
    periods.add(period);
    assert.equal(new Set(ids.slice(0, period)).size, period);
    ids.forEach((id, t) => {
      if (t >= period) assert.equal(id, ids[t - period]);
      assert.equal(weights[t], t >= period && t < ids.length - 1 ? 1 : 0);
      if (weights[t] === 1) assert.equal(targets[t], ids[ids.indexOf(id) + 1]);
    });
  }
  assert.ok(Math.min(...periods) === 8 && Math.max(...periods) === 24);
  for (const period of [
    [0, 3],
    [9, 8],
    [8, 64],
  ])
    assert.throws(() => inductionTask({ period }), /period\[/);
  for (const small of [{ vocab: 16 }, { tokens: 9 }]) {
    for (const { ids } of sequences(inductionTask(small).batch(5))) assert.ok(ids.indexOf(ids[0], 1) > 0);
  }
});

for (const [seed, tokens] of [
  [0, 64],
  [5, 32],
  [4, 8],
]) {
  test(`skipLanguageTask has the entropy that it says, and one language in all streams: seed ${seed}, ${tokens} tokens`, () => {
    const task = skipLanguageTask({ seed, tokens });
    assert.equal(task.bestLoss, skipLanguageTask({ seed, tokens, stream: 4 }).bestLoss);
    // Counts of what follows each context, of another stream than those that are predicted.
    const counts = new Map();
    const each = (stream, ids, f) => {
      const size = Math.ceil(ids / tokens);
      for (const { ids } of sequences(skipLanguageTask({ seed, tokens, stream }).batch(size))) {
        for (let t = 4; t < ids.length; ++t) f(ids[t - 2] * 16 + ids[t - 4], ids[t]);
      }
    };
    each(1, 400000, (context, id) => {
      const list = counts.get(context) ?? new Float64Array(17);
      counts.set(context, list);
      list[id] += 1;
      list[16] += 1;
    });
    let [loss, n] = [0, 0];
    each(2, 64000, (context, id) => {
      const list = counts.get(context);
      loss -= Math.log(((list?.[id] ?? 0) + 0.02) / ((list?.[16] ?? 0) + 0.32));
      n += 1;
    });
    assert.ok(Math.abs(loss / n - task.bestLoss) < 0.03, `${loss / n} against ${task.bestLoss}`);
  });
}

test('fetchByPositionTask and fetchByContentTask ask with the last id alone', () => {
  for (const { ids, targets, weights } of sequences(fetchByPositionTask({ tokens: 12, places: 5 }).batch(40))) {
    const place = ids[11] - 15;
    assert.ok(place >= 1 && place <= 5);
    assert.equal(targets[11], ids[11 - place]);
    assert.deepEqual(weights, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
  }
  for (const { ids, targets } of sequences(fetchByContentTask({ tokens: 12, keys: 20, values: 4 }).batch(40))) {
    const key = ids[11] - 80;
    const found = ids.slice(0, 11).filter((id) => Math.floor(id / 4) === key);
    assert.deepEqual(found, [targets[11]]);
  }
  assert.throws(() => fetchByContentTask({ tokens: 12, keys: 10 }), { argument: 'keys' });
  assert.throws(() => fetchByContentTask({ tokens: 5000 }), { argument: 'tokens' });
});

test('charactersTask has the characters of the text, and pieces of the part that is asked for', () => {
  const task = charactersTask(text, { tokens: 20 });
  assert.equal(task.decode(task.encode(text)), text);
  assert.deepEqual(task.characters, [...new Set(text)].sort());
  for (const { ids, targets } of sequences(task.batch(30))) {
    assert.ok(text.includes(task.decode(ids)));
    assert.deepEqual(targets.slice(0, -1), ids.slice(1));
  }
  const part = charactersTask(`${'ab'.repeat(50)}${'cd'.repeat(50)}`, { tokens: 20, part: [0.5, 1] });
  assert.match(part.decode(part.batch(9).ids.data), /^[cd]+$/);
  const few = charactersTask('aaabbbccd😀', { tokens: 2, vocab: 3 });
  assert.deepEqual(few.characters, ['a', 'b', '\ufffd']);
  assert.deepEqual([...few.encode('abcd😀x')], [0, 1, 2, 2, 2, 2]);
  // A text may have the sign of the others as a character of its own, which then stands for no other.
  const own = charactersTask('ab\ufffdab', { tokens: 2 });
  assert.deepEqual([...own.encode('b\ufffd')], [1, 2]);
  assert.throws(() => own.encode('c'), { name: 'ArgumentRangeError', message: /"c" at place 0/ });
  assert.throws(() => task.encode('a\u{1f600}'), {
    name: 'ArgumentRangeError',
    message: /text has "\u{1f600}" at place 1/u,
  });
  assert.throws(() => task.encode(5), { name: 'ArgumentTypeError' });
  for (const id of [-1, task.vocab]) {
    assert.throws(() => task.decode([0, id]), { name: 'ArgumentRangeError', argument: 'ids[1]', value: id });
  }
  assert.throws(() => charactersTask('short'), { argument: 'text' });
  assert.throws(() => charactersTask(7), { name: 'ArgumentTypeError', argument: 'text' });
  for (const each of [
    [0, 2],
    [0.5, 0.5],
    [-1, 1],
  ])
    assert.throws(() => charactersTask(text, { part: each }), /rising/);
});

test('a trainer learns from a task', async () => {
  const rw = await load();
  const task = copyTask({ tokens: 8, vocab: 4 });
  const { vocab, tokens: context } = task;
  const position = { encoding: 'learned' };
  const optimizer = { learningRate: 2e-2 };
  const trainer = rw.trainer({ layers: 1, modelDim: 16, heads: 2, causal: false, vocab, context, position, optimizer });
  for (let s = 0; s < 100; ++s) trainer.step(task.batch(8));
  assert.ok(trainer.evaluate(task.batch(32)).accuracy > 0.95);
});
