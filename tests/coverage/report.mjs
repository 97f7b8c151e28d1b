// What the tests ran of bindings/ts, from the counts of Node's coverage in a folder: node tests/coverage/report.mjs FOLDER.
// The package was built with maps to its sources. Prints functions and lines by file, and the lines that no test ran.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CoverageReport } from 'monocart-coverage-reports';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const report = new CoverageReport({
  name: 'bindings/ts',
  baseDir: root,
  outputDir: `${root}/build/coverage/ts`,
  cleanCache: true,
  reports: [['console-details', { metrics: ['functions', 'lines'], skipPercent: 100 }], 'console-summary'],
  entryFilter: { [`**${root}/dist/**`]: true, '**/*': false },
  sourceFilter: { '**/bindings/ts/**': true },
  sourcePath: (path) => path.replace(/^.*bindings\/ts\//, 'bindings/ts/'),
});
await report.addFromDir(process.argv[2]);
await report.generate();
