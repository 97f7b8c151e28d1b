// Runs a set of tests on every build of the package that this runtime supports.
import { describe, test } from 'node:test';
import { builds } from '../../vectors/builds.mjs';

/** Calls `define(rw)` inside a describe() for each build, with an instance of it. */
export async function onEachBuild(define) {
  for (const { name, load } of await builds()) {
    if (load === undefined) {
      test(`the ${name} build`, { skip: 'this runtime does not run it' }, () => {});
      continue;
    }
    const rw = await load();
    describe(`the ${name} build`, () => define(rw));
  }
}
