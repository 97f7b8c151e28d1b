// Formats results as text: a table for each work, and the results of the targets.

export function milliseconds(ms) {
  if (ms === undefined) return '-';
  if (ms < 1e-3) return `${(ms * 1e6).toPrecision(3)} ns`;
  if (ms < 1) return `${(ms * 1e3).toPrecision(3)} µs`;
  if (ms < 999.5) return `${ms.toPrecision(3)} ms`;
  return `${(ms / 1e3).toPrecision(3)} s`;
}

const ratio = (value) => (value === undefined || Number.isNaN(value) ? '-' : value.toPrecision(3));
const scientific = (value) => (value === undefined ? '-' : value.toExponential(1));

/** Rows of strings as columns; the first column is aligned left, numbers right. */
export function columns(rows) {
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  const cell = (text, i) => (i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i]));
  return rows.map((row) => row.map(cell).join('  ').trimEnd()).join('\n');
}

const spreadOf = (path) => (path ? `${milliseconds(path.low)} .. ${milliseconds(path.high)}` : '-');

/** Time of a contender over ours: the relaxed build, or else the simd128 build, or else their kernels. */
function overOurs(result, other, path) {
  const own = [result.relaxed, result.simd, result['kernels-relaxed'], result['kernels-simd']].find((r) => r?.[path]);
  return own && other[path] ? other[path].median / own[path].median : undefined;
}

export function workRows(work, result, contenders) {
  const head = [work.title, 'op', 'quartiles', 'io', 'quartiles', 'op / ours', 'io / ours', 'error'];
  if (work.flops) head.push('GFLOP/s');
  else if (work.bytes) head.push('GB/s');
  const rows = contenders.flatMap(({ id, title }) => {
    const own = result[id];
    if (!own) return [];
    if (own.unavailable && work.limit) return [];
    if (own.unavailable) return [[`  ${title} (${own.unavailable})`, 'not available', ...head.slice(2).map(() => '')]];
    const cells = [
      `  ${title}${own.form ? `: ${own.form}` : ''}`,
      milliseconds(own.op?.median),
      spreadOf(own.op),
      milliseconds(own.io?.median),
      spreadOf(own.io),
      ratio(overOurs(result, own, 'op')),
      ratio(overOurs(result, own, 'io')),
      scientific(own.error),
    ];
    const amount = work.flops ?? work.bytes;
    if (amount) cells.push(own.op ? (amount / own.op.median / 1e6).toPrecision(3) : '-');
    return [cells];
  });
  return [head, ...rows];
}

function verdict(cell) {
  if (cell === undefined) return '';
  const bound = `${cell.atLeast ? '>=' : '<='} ${cell.bound.toPrecision(3)}`;
  if (cell.value === undefined) return `not available (${bound})`;
  return `${cell.value.toPrecision(3)} (${bound}) ${cell.reached ? 'reached' : 'missed'}${cell.kernel ? ', kernel' : ''}`;
}

export function targetRows(judged) {
  const head = ['to reach', 'against', 'relaxed', 'simd', 'limit, relaxed', 'limit, simd'];
  const rows = judged.map(({ title, peer, path, cells: [relaxed, simd] }) => [
    title,
    `${peer} ${path}`,
    verdict(relaxed.peer),
    verdict(simd.peer),
    verdict(relaxed.limit),
    verdict(simd.limit),
  ]);
  return [head, ...rows];
}
