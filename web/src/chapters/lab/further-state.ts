// What the figures of the further experiments are given.
import type { ChapterState } from '../../figure/chapter';
import type { Texts } from './i18n/en';
import type { FurtherTexts } from './i18n/further-en';
import type { liveRun } from './live-run';
import type { paceOf, recordedPoints, seeds } from './settings';
import type { TrainingSession } from './training-session';

export type FurtherState = ChapterState<Texts & FurtherTexts>;

/** What they have in common with the other figures; imported by them, it would come with the first figure of the page. */
export interface Shared {
  readonly liveRun: typeof liveRun;
  readonly paceOf: typeof paceOf;
  readonly recordedPoints: typeof recordedPoints;
  readonly seeds: typeof seeds;
  readonly TrainingSession: typeof TrainingSession;
}
