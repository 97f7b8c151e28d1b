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
  'playground',
  'speed',
]);
