// x [rows, inputs] times a constant weight matrix [outputs, inputs]: a square product, a projection, a projection of
// one row; and with weights in blocks of 8 or 4 bits. The weights are constant, so contenders that pack them do so once.
import { random } from '../random.mjs';
import { linear, sample, spread } from '../reference.mjs';

function product(id, title, rows, inputs, outputs) {
  return {
    id,
    title,
    operation: 'linear',
    sizes: { rows, inputs, outputs },
    flops: 2 * rows * inputs * outputs,
    bytes: 4 * (inputs * outputs + rows * (inputs + outputs)),
    inputs: () => ({ x: random(rows * inputs, 1), weight: random(inputs * outputs, 2) }),
    reference({ x, weight }) {
      const places = spread(rows, 5).flatMap((r) => spread(outputs, 67).map((o) => r * outputs + o));
      return sample(places, (index) => {
        const [row, o] = [Math.floor(index / outputs), index % outputs];
        const at = weight.subarray(o * inputs, (o + 1) * inputs);
        return linear(x.subarray(row * inputs, (row + 1) * inputs), at)[0];
      });
    },
  };
}

const matmul = (n) => product(`matmul ${n}`, `matmul ${n}`, n, n, n);
const projection = (rows, inputs, outputs) =>
  product(
    `projection ${rows}x${inputs}->${outputs}`,
    `projection ${rows}x${inputs} to ${outputs}`,
    rows,
    inputs,
    outputs,
  );

const blockBytes = { q8_0: 34 / 32, q4_0: 18 / 32 };

// Each contender rounds the weights as its own format of as many bits has it; the reference has them as they were.
function inBlocks(type, rows, inputs, outputs) {
  const plain = projection(rows, inputs, outputs);
  return {
    ...plain,
    id: `${type} ${rows}x${inputs}->${outputs}`,
    title: `${plain.title}, weights in ${type}`,
    operation: 'blockLinear',
    sizes: { rows, inputs, outputs, type },
    bytes: blockBytes[type] * inputs * outputs + 4 * rows * (inputs + outputs),
  };
}

export const works = [
  matmul(256),
  matmul(512),
  matmul(1024),
  projection(1, 512, 512),
  projection(1, 768, 3072),
  projection(128, 512, 512),
  projection(2048, 512, 512),
  projection(1, 2048, 2048),
  projection(128, 2048, 2048),
  ...['q8_0', 'q4_0'].flatMap((type) => [inBlocks(type, 1, 2048, 2048), inBlocks(type, 128, 2048, 2048)]),
];
