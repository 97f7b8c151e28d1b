// Tensors of a model by their names in the file, as doubles.
import { decode } from '../tiny/numbers.mjs';

/** Vectors are Float64Arrays, matrices are arrays of rows. */
export class Weights {
  #tensors;

  constructor(tensors) {
    this.#tensors = tensors;
  }

  has(name) {
    return Object.hasOwn(this.#tensors, name);
  }

  vector(name) {
    const tensor = this.#tensors[name];
    if (tensor === undefined) throw new Error(`the model has no tensor ${name}`);
    return decode(tensor.dtype, tensor.data);
  }

  matrix(name) {
    const all = this.vector(name);
    const [rows, inputs] = this.#tensors[name].shape;
    return Array.from({ length: rows }, (_, r) => all.subarray(r * inputs, (r + 1) * inputs));
  }

  /** { weight, bias } of a linear map. */
  linear(name) {
    return { weight: this.matrix(`${name}.weight`), bias: this.#bias(name) };
  }

  /** { weight, bias } of a norm, also by the names that TensorFlow gave them. */
  norm(name) {
    if (this.has(`${name}.gamma`)) return { weight: this.vector(`${name}.gamma`), bias: this.vector(`${name}.beta`) };
    return { weight: this.vector(`${name}.weight`), bias: this.#bias(name) };
  }

  #bias(name) {
    return this.has(`${name}.bias`) ? this.vector(`${name}.bias`) : undefined;
  }
}

/** Consecutive rows of a linear map. */
export const slice = ({ weight, bias }, from, to) => ({
  weight: weight.slice(from, to),
  bias: bias?.slice(from, to),
});
