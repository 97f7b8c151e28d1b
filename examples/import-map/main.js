import { load } from 'ropewalk';

const rw = await load();
const { data, shape } = rw.alibiBias({ heads: 8, queries: 6, keys: 6 });
const [, queries, keys] = shape;
const table = document.querySelector('table');
for (let q = 0; q < queries; ++q) {
  const row = table.insertRow();
  for (let k = 0; k < keys; ++k) row.insertCell().textContent = data[q * keys + k].toFixed(2);
}
