// One measurement in its own process: `node child.mjs first NAME` prints the milliseconds to a first result,
// `node child.mjs heap CONTENDER WORK` the bytes of all WebAssembly memories after running a work once.

const [, , kind, name, id] = process.argv;
const environment = { node: true, wanted: () => true };

// Every memory that any module makes or exports; they only grow, so their size at the end is the peak.
function collectMemories() {
  const memories = new Set();
  const { Memory, Instance, instantiate } = WebAssembly;
  const keep = (instance) => {
    for (const value of Object.values(instance.exports)) if (value instanceof Memory) memories.add(value);
    return instance;
  };
  WebAssembly.Memory = new Proxy(Memory, {
    construct(target, args) {
      const memory = new target(...args);
      memories.add(memory);
      return memory;
    },
  });
  WebAssembly.Instance = new Proxy(Instance, { construct: (target, args) => keep(new target(...args)) });
  WebAssembly.instantiate = async (...args) => {
    const result = await instantiate(...args);
    keep(result.instance ?? result);
    return result;
  };
  return memories;
}

async function first() {
  const { firstModel, timeFirst } = await import('./firsts.mjs');
  const model = name === 'ort' ? firstModel((await import('../peers/onnx.mjs')).model) : undefined;
  return timeFirst(name, { model });
}

async function heap() {
  const memories = collectMemories();
  const [{ contenders }, { workOf }] = await Promise.all([
    import('./contenders/index.mjs'),
    import('./works/index.mjs'),
  ]);
  const contender = await contenders.find((c) => c.id === name).open(environment);
  if (!contender) return Number.NaN;
  const work = workOf(id);
  const prepared = await contender.operations[work.operation](work.sizes, work.inputs());
  await prepared.op();
  return [...memories].reduce((sum, memory) => sum + memory.buffer.byteLength, 0);
}

console.log(await { first, heap }[kind]());
process.exit(0); // some peers leave workers behind
