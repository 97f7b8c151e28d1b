// The chapters, in reading order: each is the folder of that name.

export const chapterIds = /** @type {const} */ ([
  'order',
  'binary',
  'sinusoid',
  'algebra',
  'relative',
  'rope',
  'decay',
  'context',
  'axes',
  'linear',
  'lab',
  'playground',
  'compare',
  'speed',
]);

/**
 * The chapters that come when the reader is near them: few need what they take.
 *
 * @type {readonly string[]}
 */
export const onDemand = ['context', 'axes', 'linear', 'lab', 'compare', 'speed'];
