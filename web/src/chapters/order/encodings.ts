// The position encodings of the attention picture. One entry makes one appear in the menu, in the address and in
// the layer; the dictionaries then do not compile until both have its name.
import type { LayerPosition } from 'ropewalk';

export const encodings = {
  none: { encoding: 'none' },
  sinusoidal: { encoding: 'sinusoidal' },
  rope: { encoding: 'rope' },
} as const satisfies Record<string, LayerPosition>;

export type EncodingName = keyof typeof encodings;

export const encodingNames = Object.keys(encodings) as EncodingName[];
