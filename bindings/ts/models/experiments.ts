// What the functions of experiments do, in one part of the package that their first call imports.

export { measureLengths, measurePerplexity } from './evaluate.js';
export { replaced } from './replaced.js';
