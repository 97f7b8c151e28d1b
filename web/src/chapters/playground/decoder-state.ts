// What the figures of a decoder are given.
import type { Remote } from 'ropewalk/worker';
import type { ChapterState } from '../../figure/chapter';
import type { Bench } from './bench';
import type { DecoderTexts } from './i18n/decoder-en';
import type { Texts } from './i18n/en';
import type { session } from './session';

export type DecoderState = ChapterState<Texts & DecoderTexts>;

/** What the playground has of the model; imported by them, it would come with the first figure of the page. */
export interface Playground {
  readonly session: typeof session;
  readonly remoteBench: () => Promise<Remote<Bench>>;
}
