// Where pairs point with exact angles and with rounded ones. Knows nothing of the DOM.
import type { Ropewalk } from 'ropewalk';
import { errorHead } from './programs';

export interface Hands {
  /** Where each of some pairs points at a position, exactly and with angles in float32. */
  readonly exact: readonly (readonly [x: number, y: number])[];
  readonly rounded: readonly (readonly [x: number, y: number])[];
}

export const shownPairs = 8;

export function angleHands(core: Ropewalk, base: number, position: number): Hands {
  const hands = (angles: 'exact' | 'float32') => {
    const plan = core.rope({ headDim: errorHead, base, angles });
    try {
      const { cos, sin } = plan.tables([position]);
      return Array.from({ length: shownPairs }, (_, i) => [cos[i] ?? 1, sin[i] ?? 0] as const);
    } finally {
      plan.dispose();
    }
  };
  return { exact: hands('exact'), rounded: hands('float32') };
}
