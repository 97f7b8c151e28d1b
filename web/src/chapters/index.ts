// The chapters, in reading order.
import { algebraChapter } from './algebra';
import { axesChapter } from './axes';
import { binaryChapter } from './binary';
import type { Chapter } from './chapter';
import { contextChapter } from './context';
import { decayChapter } from './decay';
import { orderChapter } from './order';
import { relativeChapter } from './relative';
import { ropeChapter } from './rope';
import { sinusoidChapter } from './sinusoid';
import { speedChapter } from './speed';

export const chapters: readonly Chapter[] = [
  orderChapter,
  binaryChapter,
  sinusoidChapter,
  algebraChapter,
  relativeChapter,
  ropeChapter,
  decayChapter,
  contextChapter,
  axesChapter,
  speedChapter,
];
