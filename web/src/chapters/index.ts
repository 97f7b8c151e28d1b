// The chapters, in reading order.
import { attentionChapter } from './attention';
import type { Chapter } from './chapter';
import { rotationChapter } from './rotation';

export const chapters: readonly Chapter[] = [attentionChapter, rotationChapter];
