// Writes a run as a page of the documentation, docs/benchmarks.md, with its charts.
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { chart } from './chart.mjs';
import { machineLine } from './machine.mjs';
import { milliseconds, targetRows, workRows } from './report.mjs';

export function table([head, ...rows]) {
  const line = (cells) => `| ${cells.map((cell) => cell.trim().replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}

const mebibytes = (bytes) => (bytes == null ? '-' : `${(bytes / 2 ** 20).toPrecision(3)} MiB`);
const kilobytes = (bytes) => (bytes === undefined ? '-' : `${(bytes / 1000).toFixed(0)} kB`);

export function startupRows(startup) {
  const rows = Object.values(startup).map(({ title, median, low, high, bytes }) => [
    title,
    milliseconds(median),
    `${milliseconds(low)} .. ${milliseconds(high)}`,
    ...(bytes ? [kilobytes(bytes.raw), kilobytes(bytes.gzip), kilobytes(bytes.brotli)] : []),
  ]);
  const downloaded = rows[0].length > 3 ? ['downloaded', 'gzip', 'brotli'] : [];
  return [['import to first result, cold', 'median', 'quartiles', ...downloaded], ...rows];
}

export const heapRows = (heap) => [
  ['peak wasm heap, attention layer T 2048', 'bytes'],
  ...Object.entries(heap).map(([id, bytes]) => [id, mebibytes(bytes)]),
];

/** A table for each kind of work. */
export function growthTables(growth) {
  const ids = Object.keys(growth[0].time);
  const time = (ms) => (ms === null ? '-' : milliseconds(ms));
  return [...new Set(growth.map(({ kind }) => kind))].map((name) => [
    [name, ...ids, ...ids.map((id) => `${id}, heap`)],
    ...growth
      .filter(({ kind }) => kind === name)
      .map(({ axis, value, time: times, bytes }) => [
        `${axis} ${value}`,
        ...ids.map((id) => time(times[id])),
        ...ids.map((id) => mebibytes(bytes?.[id])),
      ]),
  ]);
}

// One chart of times and one of memory, beside the page: ours, of every kind of work.
function charts(growth, file) {
  const rows = growth.filter(({ axis }) => axis === 'T');
  if (rows.length === 0) return [];
  const id = Object.keys(rows[0].time).find((name) => rows.some(({ time }) => time[name] !== null));
  const seriesOf = (field, scale) =>
    [...new Set(rows.map(({ kind }) => kind))]
      .map((title, color) => ({
        title,
        color,
        points: rows.filter(({ kind }) => kind === title).map((r) => [r.value, r[field]?.[id] * scale]),
      }))
      .map((series) => ({ ...series, points: series.points.filter(([, v]) => v > 0) }))
      .filter(({ points }) => points.length > 0);
  const common = { xTitle: 'T, tokens (8 heads of 64)', xLabel: (v) => (v < 1024 ? `${v}` : `${v / 1024}k`) };
  const made = {
    'benchmarks-time.svg': {
      title: `Time, ${id} build`,
      yLabel: (v) => milliseconds(v),
      series: seriesOf('time', 1),
    },
    'benchmarks-memory.svg': {
      title: `wasm memory at its peak, ${id} build`,
      yLabel: (v) => `${v} MiB`,
      series: seriesOf('bytes', 2 ** -20),
    },
  };
  return Object.entries(made).map(([name, options]) => {
    writeFileSync(join(dirname(file), name), chart({ ...common, ...options }));
    return `![${options.title} by number of tokens](${name})`;
  });
}

function headingOf({ runtime, growth, results, command }, works) {
  if (growth && Object.keys(results).length === 0) return `How cost grows, ${runtime}`;
  const [, filter] = / --filter '([^']+)'/.exec(command) ?? [];
  if (works.some(({ id }) => !results[id]) && filter) return `Works of \`${filter}\`, ${runtime}`;
  return / --targets/.test(command) ? `Against the targets, ${runtime}` : `All peers, ${runtime}`;
}

function section(run, works, file) {
  const listed = works.filter(({ id }) => run.results[id]);
  const versions = run.contenders.filter(({ version }) => version).map(({ title, version }) => `${title} ${version}`);
  const several = run.runs > 1 ? `; targets: the median of ${run.runs} runs, tables: the last` : '';
  return [
    `## ${headingOf(run, works)}`,
    `\`${run.command}\``,
    `${machineLine(run)}; medians of ${run.rounds} rounds, contenders in alternation${several}. Versions: ${versions.join('; ')}.`,
    ...(listed.length > 0 ? [table(targetRows(run.targets))] : []),
    ...listed.map((work) => table(workRows(work, run.results[work.id], run.contenders))),
    ...(run.startup ? [table(startupRows(run.startup))] : []),
    ...(run.heap ? [table(heapRows(run.heap))] : []),
    ...(run.growth ? [...charts(run.growth, file), ...growthTables(run.growth).map(table)] : []),
  ];
}

/** Writes `file` and its charts from the runs (Node, Chromium). */
export function writeMarkdown(file, runs, works) {
  const sections = runs.flatMap((run) => section(run, works, file));
  const intro = `\`op\`: data and result stay inside; \`io\`: as a JavaScript caller sees it, copies included. "/ ours" is a contender's time over that of the relaxed build. The error is
the greatest difference from float64 on a sample, over the greatest magnitude. Compare only within one table.
Why some rows miss their target: \`docs/benchmarks-limits.md\`.`;
  writeFileSync(file, `${['# Benchmarks', intro, ...sections].join('\n\n')}\n`);
}
