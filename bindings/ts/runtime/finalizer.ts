// The garbage collector as a safety net: a function runs some time after its object is gone.

/** Undefined in engines without FinalizationRegistry (workerd with a compatibility date before 2025-05-05). @internal */
export function createFinalizer(): FinalizationRegistry<() => void> | undefined {
  const Registry = (globalThis as { FinalizationRegistry?: typeof FinalizationRegistry }).FinalizationRegistry;
  return Registry && new Registry((free) => free());
}
