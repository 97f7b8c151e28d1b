// LayerNormalization and RMSNormalization of onnxruntime-web against layerNorm and rmsNorm.
import { test } from 'node:test';
import { everyCase, onnxruntime } from './cases.mjs';

async function norm(draw, { op, name }) {
  // Rows whose mean is small beside their spread: onnxruntime takes the mean of squares less the square of the mean, and
  // loses more digits than the tolerance where the two are close.
  const shape = [draw.integer(1, 3), draw.integer(1, 9), draw.integer(16, 70)];
  const width = [shape[2]];
  const { data } = draw.numbers(...shape);
  const weight = draw.numbers(...width);
  const bias = draw.pick(true, false) && name === 'layerNorm' ? draw.numbers(...width) : undefined;
  const eps = draw.pick(1e-12, 1e-5, 1e-2);
  const inputs = { x: { data, shape }, weight, ...(bias ? { bias } : {}) };
  const node = { op, in: Object.keys(inputs), out: 'y', axis: -1, epsilon: { float: eps } };
  return {
    ours: (rw) => rw[name]({ data, shape }, { weight, eps, ...(bias ? { bias } : {}) }).data,
    out: await onnxruntime(node, inputs),
    what: { op, shape, eps, bias: bias !== undefined },
  };
}

test('300 cases of LayerNormalization agree', async () => {
  await everyCase(300, 7001, (draw) => norm(draw, { op: 'LayerNormalization', name: 'layerNorm' }));
});

test('200 cases of RMSNormalization agree', async () => {
  await everyCase(200, 8001, (draw) => norm(draw, { op: 'RMSNormalization', name: 'rmsNorm' }));
});
