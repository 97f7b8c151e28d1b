// From a CDN the script is https://cdn.jsdelivr.net/npm/ropewalk or https://unpkg.com/ropewalk: the same file.
const headDim = 64;

async function show() {
  const rw = await ropewalk.load();
  const plan = rw.rope({ headDim, base: 10000 });
  const ones = new Float32Array(headDim).fill(1);
  const query = plan.rotate(ones, { offset: 0 });
  const table = document.querySelector('table');
  for (const distance of [0, 1, 10, 100, 1000]) {
    const key = plan.rotate(ones, { offset: distance });
    const score = query.reduce((sum, x, i) => sum + x * key[i], 0) / headDim;
    const row = table.insertRow();
    for (const cell of [distance, score.toFixed(3)]) row.insertCell().textContent = cell;
  }
}

show().catch((error) => {
  document.querySelector('[role=status]').textContent = error.message;
});
