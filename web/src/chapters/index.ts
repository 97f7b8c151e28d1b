// The chapters, in reading order.
import type { Chapter } from './chapter';
import { orderChapter } from './order';
import { ropeChapter } from './rope';

export const chapters: readonly Chapter[] = [orderChapter, ropeChapter];
