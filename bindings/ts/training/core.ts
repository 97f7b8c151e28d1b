// The core of 'ropewalk/training', a module of its own, which has what a heap needs and trainers.
import type { MainModule } from '../core.mjs';
import type { MainModule as TrainingModule } from '../training-core.mjs';

export type { Trainer as CoreTrainer } from '../training-core.mjs';

/** The core of a heap that load() of 'ropewalk/training' made. @internal */
export const trainingCore = (core: MainModule): TrainingModule => core as unknown as TrainingModule;
