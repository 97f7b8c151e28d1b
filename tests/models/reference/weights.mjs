// The tensors of a model as doubles, by their names in the file.
import { decode, encode } from '../tiny/numbers.mjs';

/** Gives vectors as Float64Arrays and matrices as arrays of rows. */
export class Weights {
  #tensors;
  #prefix;

  constructor(tensors, prefix = '') {
    this.#tensors = tensors;
    this.#prefix = prefix;
  }

  has(name) {
    return Object.hasOwn(this.#tensors, this.#prefix + name);
  }

  vector(name) {
    const { dtype, data } = this.#tensor(name);
    return decode(dtype, data);
  }

  matrix(name) {
    const all = this.vector(name);
    const [rows, inputs] = this.#tensor(name).shape;
    return Array.from({ length: rows }, (_, r) => all.subarray(r * inputs, (r + 1) * inputs));
  }

  /** { weight, bias } of a linear map. */
  linear(name) {
    return { weight: this.matrix(`${name}.weight`), bias: this.#bias(name) };
  }

  /** { weight, bias } of a norm, also by TensorFlow's names. */
  norm(name) {
    if (this.has(`${name}.gamma`)) return { weight: this.vector(`${name}.gamma`), bias: this.vector(`${name}.beta`) };
    return { weight: this.vector(`${name}.weight`), bias: this.#bias(name) };
  }

  /** A number rounded to the type of a tensor. */
  asStored(name, value) {
    const { dtype } = this.#tensor(name);
    return decode(dtype, encode(dtype, [value]))[0];
  }

  #tensor(name) {
    if (!this.has(name)) throw new Error(`the model has no tensor ${this.#prefix}${name}`);
    return this.#tensors[this.#prefix + name];
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
