// How long the models of the lab's further experiments are trained, and how often they are looked at.

/** A short training at a longer text, with each scaling of RoPE: steps before it, steps of it, those between two looks. */
export const tuning = { before: 500, steps: 100, every: 10 };

/** Steps of a run that learns a text, and those between two looks at it. */
export const textSteps = 600;
export const textEvery = 20;

/** What a model of a text goes on from, in how many characters more. */
export const sample = { beginning: 'She was ', length: 120 };
