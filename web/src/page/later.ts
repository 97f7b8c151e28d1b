// What the page has once its first figure is there, in one file.
export { hero } from './hero';
export { bringTypeface } from './typeface';
