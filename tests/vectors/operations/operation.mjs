// Common to all operations: a case with an unknown parameter or input is skipped, never run in part.

/** Thrown for what the runner or the package does not support; the case is skipped, with the message as reason. */
export class Unsupported extends Error {}

/** Thrown if a result is wrong in a way that is not visible in the outputs; the case fails in any event. */
export class WrongResult extends Error {}

/**
 * An operation: (rw, params, inputs) => outputs, each { shape, data }. `params` and `inputs` list all supported names.
 * A parameter that is null counts as absent.
 */
export function operation({ params: knownParams = [], inputs: knownInputs = [] }, run) {
  return (rw, params, inputs) => {
    for (const name of Object.keys(params)) if (!knownParams.includes(name)) throw new Unsupported(`param ${name}`);
    for (const name of Object.keys(inputs)) if (!knownInputs.includes(name)) throw new Unsupported(`input ${name}`);
    return run(rw, Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null)), inputs);
  };
}

/** The value in `choices` for a parameter; throws Unsupported for an unknown one. */
export function choose(name, word, choices) {
  if (Object.hasOwn(choices, word)) return choices[word];
  throw new Unsupported(`param ${name} = ${JSON.stringify(word)}`);
}

/** An object without its undefined fields, so that options missing in a case have their defaults. */
export function given(options) {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
