// What the figures on positions with several axes offer, in the package's terms.
import type { MropeSegment, RopeAxes } from 'ropewalk';
import { headDim } from './programs';

// One entry makes a layout appear in the menu, in the address and in the figure.
export const gridLayouts = {
  flat: undefined,
  axial: { layout: 'axial', dims: [headDim / 2, headDim / 2] },
  vision: { layout: 'vision' },
  pixtral: { layout: 'pixtral' },
} as const satisfies Record<string, RopeAxes | undefined>;

export type GridLayout = keyof typeof gridLayouts;
export const gridLayoutNames = Object.keys(gridLayouts) as GridLayout[];

/** What a layout and a base mean in the package's terms. */
export function gridOptions(layout: GridLayout, base: number): { readonly base: number; readonly axes?: RopeAxes } {
  const axes = gridLayouts[layout];
  return { base, ...(axes && { axes }) };
}

export interface Sequence {
  readonly before: number;
  readonly rows: number;
  readonly columns: number;
  readonly frames: number;
  readonly after: number;
}

export const segmentsOf = ({ before, rows, columns, frames, after }: Sequence): MropeSegment[] => [
  { text: before },
  frames === 1 ? { image: [rows, columns] } : { video: [frames, rows, columns] },
  { text: after },
];

/** The layouts of M-RoPE. */
export const sectionAxes: readonly RopeAxes[] = [
  { layout: 'sections', sections: [8, 12, 12] },
  { layout: 'interleaved', sections: [12, 10, 10] },
];
