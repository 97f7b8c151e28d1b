// Texts around the chapters, and in every figure. In prose *...* is emphasis, `...` code, $...$ a variable, $x_i$ one
// with an index, and [text](address) a link.
export const page = {
  // The title, word by word; joined they are all of it.
  title: ['How ', 'attention ', 'knows ', 'where ', 'a ', 'word ', 'stands'],
  needles:
    'A row for each word of the title, a needle for each pair of coordinates: all start level at the first word and turn as the words go by, the leftmost fastest. Where the needles point tells the place.',
  lede: 'Position encodings, explained with pictures that you can take hold of. Type, drag and turn: each change is computed as you read, by the same code that the ropewalk package ships.',
  hero: {
    // The words of the title that walk.
    words: [1, 5],
    alone: 'Let one walk alone',
    note: 'Drag a word, or move it with the arrow keys. Its needles turn with its place, the leftmost fastest. While both walk together, their score stays.',
    score: (distance: string, score: string, stays: boolean) =>
      `Distance ${distance}: score ${score}${stays ? ', as before.' : '.'}`,
  },
  contents: 'Chapters',
  skip: 'Skip to the text',
  themeIs: (theme: 'auto' | 'light' | 'dark') => `Theme: ${theme}`,
  build: (version: string, simd: string) =>
    `Computed on your device by ropewalk ${version} (WebAssembly, ${simd}). Nothing is sent anywhere, and the address of this page holds all that you set: copy it, and you have copied the picture. After the first visit the page also opens without a network.`,
  console: 'In the developer console of this page the package is at hand as `rw`.',
  lost: 'This chapter did not arrive. The connection may have been lost; what you have set is kept in the address.',
  again: 'Load the page again',
  languageLost: 'The texts in this language did not arrive. The connection may have been lost.',
  failed: 'The pictures on this page need WebAssembly with SIMD, and this browser did not run it. It said:',
};

export const figure = {
  label: 'Figure',
  copyLink: 'Copy link',
  menu: 'Menu',
  saveAs: { png: 'Save picture (PNG)', csv: 'Save numbers (CSV)', json: 'Save numbers (JSON)' },
  saved: 'Saved',
  saveFailed: 'Could not be saved',
  nothingToSave: 'There is nothing to save yet',
  reset: 'Reset',
  more: 'More settings',
  table: 'View as table',
  picture: 'View as picture',
  code: 'The call that made this picture',
  copyCode: 'Copy code',
  copied: 'Copied',
  copyFailed: 'Selected; press Ctrl+C',
  copyHere: 'Not allowed to copy. This is the link.',
  predict: 'Predict, then look',
  right: 'Yes. ',
  wrong: 'Not so. ',
  pitfalls: 'What often goes wrong',
  run: 'Run',
  cancel: 'Cancel',
  progress: (percent: string) => `${percent}% done`,
  cancelled: 'Cancelled.',
  refused: 'The package says: ',
  cells: 'Point at a cell, touch it, or walk with Tab and the arrow keys.',
};
