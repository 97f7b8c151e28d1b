// How long models are trained, and how often they are looked at. The page knows it before anything is trained.

/** Steps between two looks at the models of a run. */
export const lookEvery = 5;

/** Steps of a run that compares encodings. */
export const orderSteps = 300;

/** Steps of a run that learns to go on with what repeats. */
export const inductionSteps = 500;

/** A sequence of 36 tokens that repeats after 12, in which one can see where heads look. */
export const repeats = { tokens: 36, period: [12, 12] };

/** Steps of a run that is then read beyond the length it was trained at, and those between two looks at it. */
export const lengthSteps = 500;
export const lengthEvery = 25;

/** Tokens of a training sequence, of a test sequence, and positions that a test takes together. */
export const lengths = { trained: 32, tested: 128, bin: 4 };

/** Steps of a run that compares forms of linear attention, and those between two looks at it. */
export const linearSteps = 400;
export const linearEvery = 10;
