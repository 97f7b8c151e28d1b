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
  'speed',
]);

/** The chapter that comes when the reader is near it: few need what it takes. */
export const onDemand = 'lab';
