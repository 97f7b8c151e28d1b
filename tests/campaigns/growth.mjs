// npm run soak -- growth [FILE or FOLDER ...]: a page more of memory before and after each function of the core that runs,
// within the call that runs it, so that every view of the heap from before is dead behind it. All vectors must pass, on all
// builds, and every call of the package (tests/ts/support/calls.mjs) give the bits that it gives otherwise.
import { attempt, makeCalls } from '../ts/support/calls.mjs';
import { root } from '../ts/support/node.mjs';
import { buildsAndThreads } from '../vectors/builds.mjs';
import { readVectors } from '../vectors/files.mjs';
import { Report } from '../vectors/report.mjs';
import { Session } from '../vectors/session.mjs';

const shared = ['public', 'onnx', 'training.json', 'gguf.json', 'safetensors.json'];
const defaults = shared.map((name) => `${root}/../shared/vectors/${name}`);

let pages = 0;
const { instantiate } = WebAssembly;

// An instance whose functions, as its table gives them, grow its memory. Those that run before, for the declarations of
// Embind, do not: the glue reads names through views of its own.
async function growing(module, imports) {
  const { exports } = await instantiate(module, imports);
  const find = (kind) => Object.values(exports).find((value) => value instanceof kind);
  const memory = find(WebAssembly.Memory);
  const table = find(WebAssembly.Table);
  const get = table.get.bind(table);
  const grow = () => {
    memory.grow(1);
    pages += 1;
  };
  table.get = (index) => {
    const run = get(index);
    return (...args) => {
      grow();
      const result = run(...args);
      grow();
      return result;
    };
  };
  return { exports };
}

/** Runs both; gives what went wrong. */
export async function growth(paths) {
  const faults = [];
  const groups = readVectors(paths.length > 0 ? paths : defaults);
  const plain = await makeCalls();
  const bits = {};
  for (const name of Object.keys(plain.calls)) bits[name] = await attempt(plain, name);

  WebAssembly.instantiate = growing;
  try {
    const all = await makeCalls();
    for (const name of Object.keys(all.calls)) {
      const { bits: grown, error } = await attempt(all, name);
      if (error !== undefined) faults.push(`${name}: ${error.stack}`);
      else if (grown !== bits[name].bits) faults.push(`${name}: has other bits where the heap grows`);
    }
    console.log(`${Object.keys(all.calls).length} calls, ${pages} pages more`);
    const report = new Report();
    for (const build of await buildsAndThreads()) {
      if (build.load === undefined) {
        report.note(`${build.name}: skipped, this runtime does not run it`);
        continue;
      }
      for (const { group, cases } of groups) {
        const session = new Session(build.load); // anew: a memory has 65536 pages at most
        for (const each of cases) report.add(build.name, group, each, await session.run(each));
        report.groupDone(build.name, group);
      }
    }
    report.summary();
    console.log(`${pages} pages more`);
    if (report.failed > 0) faults.push(`${report.failed} vectors failed`);
  } finally {
    WebAssembly.instantiate = instantiate;
  }
  if (pages === 0) faults.push('no memory grew');
  return faults;
}
