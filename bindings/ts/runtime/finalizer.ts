// The garbage collector as a safety net: a function runs some time after its object is gone. Engines without
// FinalizationRegistry (workerd with a compatibility date before 2025-05-05) free by dispose() only.

type Finalizer = Pick<FinalizationRegistry<() => void>, 'register' | 'unregister'>;

const none: Finalizer = { register: () => undefined, unregister: () => false };

/** @internal */
export function createFinalizer(): Finalizer {
  const Registry = (globalThis as { FinalizationRegistry?: typeof FinalizationRegistry }).FinalizationRegistry;
  return Registry === undefined ? none : new Registry<() => void>((free) => free());
}
