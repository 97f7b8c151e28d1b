// What all operations share: a case that names a parameter or an input we do not know is skipped, never half run.

/** Thrown for what this runner or the package does not know; the case counts as skipped, with the message as reason. */
export class Unsupported extends Error {}

/** Thrown where a result is wrong in a way that no output shows; the case has failed, whatever it expects. */
export class WrongResult extends Error {}

/**
 * An operation: (rw, params, inputs) => outputs, each { shape, data }. `params` and `inputs` name everything it knows.
 * A parameter that is null counts as absent.
 */
export function operation({ params: knownParams = [], inputs: knownInputs = [] }, run) {
  return (rw, params, inputs) => {
    for (const name of Object.keys(params)) if (!knownParams.includes(name)) throw new Unsupported(`param ${name}`);
    for (const name of Object.keys(inputs)) if (!knownInputs.includes(name)) throw new Unsupported(`input ${name}`);
    return run(rw, Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null)), inputs);
  };
}

/** The value that `choices` has for a parameter's word; a word it does not have is unsupported. */
export function choose(name, word, choices) {
  if (Object.hasOwn(choices, word)) return choices[word];
  throw new Unsupported(`param ${name} = ${JSON.stringify(word)}`);
}

/** An object without the fields that are undefined: options that a case does not give stay at their defaults. */
export function given(options) {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
