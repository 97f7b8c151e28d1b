// A chart as SVG for light and dark themes: lines over two logarithmic axes, each labelled at its end.

const [width, height] = [640, 360];
const margin = { left: 76, right: 150, top: 36, bottom: 44 };
const styles = `
  text { font: 13px system-ui, sans-serif; fill: #24292f; }
  .grid { stroke: #d0d7de; stroke-width: 1; }
  .line { fill: none; stroke-width: 2; }
  .s0 { stroke: #0550ae; } .s1 { stroke: #1a7f37; } .s2 { stroke: #9a6700; } .s3 { stroke: #8250df; } .s4 { stroke: #cf222e; }
  .d0 { fill: #0550ae; } .d1 { fill: #1a7f37; } .d2 { fill: #9a6700; } .d3 { fill: #8250df; } .d4 { fill: #cf222e; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .grid { stroke: #3d444d; }
    .s0 { stroke: #6cb6ff; } .s1 { stroke: #6bc46d; } .s2 { stroke: #daaa3f; } .s3 { stroke: #dcbdfb; } .s4 { stroke: #ff938a; }
    .d0 { fill: #6cb6ff; } .d1 { fill: #6bc46d; } .d2 { fill: #daaa3f; } .d3 { fill: #dcbdfb; } .d4 { fill: #ff938a; }
  }`;

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

// Powers of `base` that enclose the values, and the way from a value to a coordinate.
function axis(values, base, from, to) {
  const log = (v) => Math.log(v) / Math.log(base);
  const low = Math.floor(log(Math.min(...values)) + 1e-9);
  const high = Math.max(low + 1, Math.ceil(log(Math.max(...values)) - 1e-9));
  const ticks = Array.from({ length: high - low + 1 }, (_, i) => base ** (low + i));
  return { ticks, at: (v) => from + ((log(v) - low) / (high - low)) * (to - from) };
}

// Moves labels down until none lies on another.
function labelHeights(wanted) {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
  const heights = [...wanted];
  order.slice(1).forEach((i, n) => {
    heights[i] = Math.max(heights[i], heights[order[n]] + 15);
  });
  return heights;
}

/** `series` are { title, color (0 to 4), points: [[x, y], ...] }; a tick doubles x and multiplies y by ten. */
export function chart({ title, xTitle, xLabel = String, yLabel, series }) {
  const points = series.flatMap((s) => s.points);
  const x = axis(
    points.map(([v]) => v),
    2,
    margin.left,
    width - margin.right,
  );
  const y = axis(
    points.map(([, v]) => v),
    10,
    height - margin.bottom,
    margin.top,
  );
  const f = (v) => v.toFixed(1);
  const grid = [
    ...y.ticks.map((v) => {
      const line = `<line class="grid" x1="${margin.left}" x2="${width - margin.right}" y1="${f(y.at(v))}" y2="${f(y.at(v))}"/>`;
      return `${line}<text x="${margin.left - 8}" y="${f(y.at(v) + 4)}" text-anchor="end">${escaped(yLabel(v))}</text>`;
    }),
    ...x.ticks.map(
      (v) =>
        `<text x="${f(x.at(v))}" y="${height - margin.bottom + 18}" text-anchor="middle">${escaped(xLabel(v))}</text>`,
    ),
  ];
  const ends = labelHeights(series.map(({ points: own }) => y.at(own.at(-1)[1]) + 4));
  const lines = series.map(({ title: name, color, points: own }, i) => {
    const path = own.map(([a, b], n) => `${n === 0 ? 'M' : 'L'}${f(x.at(a))} ${f(y.at(b))}`).join('');
    const dots = own
      .map(([a, b]) => `<circle class="d${color}" cx="${f(x.at(a))}" cy="${f(y.at(b))}" r="3"/>`)
      .join('');
    const label = `<text x="${f(x.at(own.at(-1)[0]) + 8)}" y="${f(ends[i])}">${escaped(name)}</text>`;
    return `<path class="line s${color}" d="${path}"/>${dots}${label}`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">
<style>${styles}
</style>
<text x="${margin.left}" y="20">${escaped(title)}</text>
${grid.join('\n')}
<text x="${(margin.left + width - margin.right) / 2}" y="${height - 6}" text-anchor="middle">${escaped(xTitle)}</text>
${lines.join('\n')}
</svg>
`;
}
