// npm run mutation -- PATH... [--budget N] [--seed N]: small faults, one at a time, in the C++ sources under these paths, a
// sample of N (150 unless told) by the seed, and how many of them the C++ tests notice: as they are, and what survives that
// once more with the sanitizers, which see accesses outside of an array. A copy of the tree is built and changed, in
// build/mutation; it is kept, so that a second run compiles less. A fault that leaves the test programs bit for bit as they
// were, or does not compile, is not counted; lines that say "speed alone" have none. Every survivor is printed with its line.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { mutantsOf, withMutant } from './mutants.mjs';

const { values: options, positionals: paths } = parseArgs({
  allowPositionals: true,
  options: { budget: { type: 'string', default: '150' }, seed: { type: 'string', default: '1' } },
});
const budget = Number(options.budget);
if (paths.length === 0 || !(budget >= 1)) {
  console.error('npm run mutation -- PATH... [--budget N] [--seed N], such as src/training --budget 200');
  process.exit(2);
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const copy = join(root, 'build/mutation');

// The test programs of a source; the first that fits.
const programs = [
  ['src/training/', ['ropewalk_training_tests']],
  ['src/', ['ropewalk_tests', 'ropewalk_oom_tests']],
];

const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean);
const sources = git('ls-files', '-z', '--', ...paths).filter((name) => /^src\/.*\.(?:cpp|h)$/.test(name));
const targets = [...new Set(sources.flatMap((name) => programs.find(([prefix]) => name.startsWith(prefix))[1]))];

// Files that are equal are left alone, or they would be compiled anew.
function copyTree() {
  const needed = git('ls-files', '-z', '--', 'CMakeLists.txt', 'CMakePresets.json', 'src', 'tests/cpp', 'tests/bench');
  for (const name of [...needed, 'build/catch2.cmake'].filter((each) => existsSync(join(root, each)))) {
    const [from, to] = [join(root, name), join(copy, name)];
    if (existsSync(to) && readFileSync(to).equals(readFileSync(from))) continue;
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(from, to);
  }
}

// As the presets have it, so that ccache knows what was compiled outside of the copy.
const env = {
  ...process.env,
  CCACHE_BASEDIR: copy,
  CCACHE_NOHASHDIR: '1',
  CCACHE_SLOPPINESS: 'pch_defines,time_macros',
};

// Faults may loop for ever or ask for all of the memory; the sanitizers reserve more addresses than there are.
function run(command, args, { timeout, limit = 'ulimit -v 8000000' } = {}) {
  const limited = ['-c', `${limit}; exec nice -n 19 "$0" "$@"`, command, ...args];
  return spawnSync('bash', limited, { cwd: copy, env, timeout, encoding: 'utf8', killSignal: 'SIGKILL' });
}

function succeed({ status, stdout, stderr }, what) {
  if (status === 0) return;
  console.error(`${stdout}${stderr}mutation: ${what} without a fault failed`);
  process.exit(1);
}

// The test programs of a preset, built without a fault, in which all tests pass.
function programsOf(preset, limit) {
  const build = join(copy, 'build', preset);
  const compile = () => run('cmake', ['--build', build, '-j1', '--target', ...targets]);
  const files = targets.map((name) => join(build, 'tests/cpp', name));
  const digest = () => {
    const sum = createHash('sha256');
    for (const file of files) sum.update(readFileSync(file));
    return sum.digest('hex');
  };
  // With threads, whose tests are then among the others.
  succeed(run('cmake', ['--preset', preset, '-D', 'ROPEWALK_THREADS=ON']), `the configuration of ${preset}`);
  succeed(compile(), `the build of ${preset}`);
  const whole = digest();
  const start = performance.now();
  for (const file of files) succeed(run(file, ['--abort'], { limit }), file);
  const timeout = Math.round(5 * (performance.now() - start)) + 10_000;
  return {
    compiles: () => compile().status === 0,
    isWhole: () => digest() === whole,
    pass: () => files.every((file) => run(file, ['--abort'], { timeout, limit }).status === 0),
  };
}

copyTree();
const plain = programsOf('native');
const sanitized = programsOf('native-sanitize', 'export ASAN_OPTIONS=hard_rss_limit_mb=8000');

// The order of a sample depends on the seed and on each fault alone, so that a larger budget adds to a smaller one's.
const texts = new Map(sources.map((name) => [name, readFileSync(join(root, name), 'utf8')]));
const text = (name) => texts.get(name);
const rank = (name, { line, at, to }) =>
  createHash('sha256')
    .update(JSON.stringify([options.seed, name, line, at, to]))
    .digest('hex');
const all = sources.flatMap((name) =>
  mutantsOf(text(name)).map((mutant) => ({ name, mutant, rank: rank(name, mutant) })),
);
const sample = all.sort((a, b) => (a.rank < b.rank ? -1 : 1)).slice(0, budget);
console.log(`${sample.length} of ${all.length} faults in ${sources.length} files; tests: ${targets.join(', ')}`);

const counts = { noticed: 0, survived: 0, 'same program': 0, 'not compiled': 0 };
function outcome(name, mutant) {
  writeFileSync(join(copy, name), withMutant(text(name), mutant));
  if (!plain.compiles()) return 'not compiled';
  if (plain.isWhole()) return 'same program';
  return plain.pass() && sanitized.compiles() && sanitized.pass() ? 'survived' : 'noticed';
}
for (const { name, mutant } of sample) {
  const found = outcome(name, mutant);
  writeFileSync(join(copy, name), text(name));
  counts[found] += 1;
  const { line, at, from, to } = mutant;
  const code = text(name).split('\n')[line - 1];
  const what = `${code.slice(at, at + from.length).trim()} -> ${to.trim() || 'nothing'}`;
  console.log(`${found.padEnd(12)}  ${name}:${line}:${at + 1}: ${what}   ${code.trim()}`);
}
const { noticed, survived } = counts;
console.log(
  Object.entries(counts)
    .map(([what, count]) => `${count} ${what}`)
    .join(', '),
);
console.log(`noticed: ${noticed} of ${noticed + survived}, ${((100 * noticed) / (noticed + survived)).toFixed(1)} %`);
