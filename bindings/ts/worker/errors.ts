// Sends errors between threads with their class, message and fields.
import {
  ArgumentRangeError,
  ArgumentTypeError,
  describe,
  GgufError,
  InstanceLostError,
  OutOfMemoryError,
  SafetensorsError,
  StateError,
  StorageError,
  TrainingError,
  UnsupportedError,
} from '../runtime/errors.js';

/** An error as it is sent; `thrown` is a thrown value that is not an error. @internal */
export type SentError =
  | { readonly thrown: unknown }
  | {
      /** Whether it is a DOMException, such as an AbortError. */
      readonly dom: boolean;
      readonly name: string;
      readonly message: string;
      readonly stack: string | undefined;
      readonly fields: Readonly<Record<string, unknown>>;
      readonly cause: SentError | undefined;
    };

const fieldNames = ['argument', 'value', 'file', 'tensor', 'key', 'needed', 'available', 'code', 'step'];
// By these names, since a minifier may rename classes.
const classes: Readonly<Record<string, { readonly prototype: Error }>> = {
  ArgumentRangeError,
  ArgumentTypeError,
  Error,
  EvalError,
  GgufError,
  InstanceLostError,
  OutOfMemoryError,
  RangeError,
  ReferenceError,
  SafetensorsError,
  StateError,
  StorageError,
  SyntaxError,
  TrainingError,
  TypeError,
  UnsupportedError,
};
const deepest = 8; // limit of a chain of causes

// An object or symbol may not be cloneable; its description is.
const cloneable = (value: unknown) => (Object(value) === value || typeof value === 'symbol' ? describe(value) : value);

/** @internal */
export function packError(error: unknown, depth = 0): SentError {
  if (!(error instanceof Error) && !(error instanceof DOMException)) return { thrown: cloneable(error) };
  const fields: Record<string, unknown> = {};
  for (const name of fieldNames) {
    if (!Object.hasOwn(error, name)) continue;
    fields[name] = cloneable((error as unknown as Record<string, unknown>)[name]);
  }
  const cause = error.cause === undefined || depth === deepest ? undefined : packError(error.cause, depth + 1);
  const dom = error instanceof DOMException;
  return { dom, name: error.name, message: error.message, stack: error.stack, fields, cause };
}

/** @internal */
export function unpackError(sent: SentError): unknown {
  if ('thrown' in sent) return sent.thrown;
  const { dom, name, message, stack, fields, cause } = sent;
  if (dom) return new DOMException(message, name);
  const known = Object.hasOwn(classes, name) ? classes[name] : undefined;
  const error = new Error(message, cause && { cause: unpackError(cause) });
  if (known !== undefined) Object.setPrototypeOf(error, known.prototype);
  const own = { ...fields, name, stack };
  for (const [key, value] of Object.entries(own)) {
    Object.defineProperty(error, key, { value, configurable: true, writable: true, enumerable: key in fields });
  }
  return error;
}
