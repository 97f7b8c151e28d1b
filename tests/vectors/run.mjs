// Runs test vectors against the built package: node tests/vectors/run.mjs [FILE or FOLDER ...]
// Exit code 0: nothing failed. 1: a case failed. 2: a path or file cannot be used, or the package is not built.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildsAndThreads } from './builds.mjs';
import { readVectors, UnusableFile } from './files.mjs';
import { Report } from './report.mjs';
import { Session } from './session.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const defaultPath = join(root, '..', 'shared', 'vectors', 'public');

try {
  const groups = readVectors(process.argv.length > 2 ? process.argv.slice(2) : [defaultPath]);
  const report = new Report();
  for (const build of await buildsAndThreads()) {
    if (build.load === undefined) {
      report.note(`${build.name}: skipped, this runtime does not run it`);
      continue;
    }
    const session = new Session(build.load);
    for (const { group, cases } of groups) {
      for (const each of cases) report.add(build.name, group, each, await session.run(each));
      report.groupDone(build.name, group);
    }
  }
  report.summary();
  process.exitCode = report.failed > 0 ? 1 : 0;
} catch (error) {
  if (!(error instanceof UnusableFile)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
