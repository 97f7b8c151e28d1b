// Arrays of a case: converts those of the file to inputs of an operation, and compares results with the wanted outputs.
import { Unsupported } from './operations/operation.mjs';

const numbersOf = {
  f32: (data) => Float32Array.from(data),
  f16: (data) => Float32Array.from(data), // which holds every float16
  f64: (data) => Float64Array.from(data),
  i64: (data) => data,
  bool: (data) => Uint8Array.from(data, Number),
};

/** { shape, data } for each input. In a mask, null means -Infinity, which JSON lacks. */
export function inputsOf(inputs) {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, { shape, dtype, data }]) => {
      const convert = numbersOf[dtype];
      if (convert === undefined) throw new Unsupported(`dtype ${dtype}`);
      const absent = name.includes('mask') ? Number.NEGATIVE_INFINITY : Number.NaN;
      return [name, { shape, data: convert(data.map((v) => (v === null ? absent : Number(v)))) }];
    }),
  );
}

/**
 * Compares a result { shape, data } with a wanted output. Gives { worst }, the largest error as a fraction of its
 * tolerance, or { problem }.
 */
export function compare(name, got, want) {
  const shape = `[${want.shape.join(', ')}]`;
  if (`[${got.shape.join(', ')}]` !== shape || got.data.length !== want.data.length) {
    return { problem: `${name} has shape [${got.shape.join(', ')}] and ${got.data.length} numbers, want ${shape}` };
  }
  let worst = 0;
  let worstAt = -1;
  for (let i = 0; i < want.data.length; ++i) {
    const fraction = errorFraction(Number(got.data[i]), Number(want.data[i] ?? Number.NaN), want);
    if (fraction > worst) [worst, worstAt] = [fraction, i];
  }
  if (worst <= 1) return { worst };
  const wanted = Number(want.data[worstAt] ?? Number.NaN);
  const tol = (want.tol ?? 0) + (want.rtol ?? 0) * Math.abs(wanted);
  return {
    worst,
    problem: `${name}${indexOf(worstAt, want.shape)} got ${got.data[worstAt]}, want ${wanted}, tol ${tol}`,
  };
}

// |got - want| over tol + rtol |want|; NaN on either side is infinitely wrong, an infinity must be met exactly.
function errorFraction(got, want, { tol = 0, rtol = 0 }) {
  if (got === want) return 0;
  const error = Math.abs(got - want);
  const allowed = tol + rtol * Math.abs(want);
  if (!Number.isFinite(error) || allowed === 0) return Number.POSITIVE_INFINITY;
  return error / allowed;
}

function indexOf(flat, shape) {
  const index = [];
  let rest = flat;
  for (const size of [...shape].reverse()) {
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return `[${index.join(', ')}]`;
}
