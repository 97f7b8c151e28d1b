// A worker of ropewalk/threads whose stack ends at address 0, so that it traps at its first share of a loop.
const { get } = WebAssembly.Table.prototype;
WebAssembly.Table.prototype.get = function (index) {
  const work = get.call(this, index);
  return (_, thread) => work(0, thread);
};
await import('../../../dist/thread.js');
