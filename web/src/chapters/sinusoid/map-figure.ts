// The sinusoidal table as a heat map, and one of its columns as a wave.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { more } from '../../figure/more';
import { oneName, slider, together } from '../../figure/settings';
import { literal } from '../../programs/literal';
import { program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { fieldGroup } from '../../views/field-group';
import { lineChart } from '../../views/line-chart';
import type { Texts } from './i18n/en';
import { columnOf, wavelengths } from './numbers';

const dims = [2, 4, 8, 16, 32, 64];
const bases = [2, 10, 100, 1000, 10000, 100000, 500000, 1000000];
const columns = whole(0, 63);
const layouts = ['interleaved', 'concatenated'] as const;
const length = 96;

export function sinusoidMap(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.map;
  const { plain, fixed, measure } = chapter.numbers;
  const fields = {
    dim: slider(texts.dim, dims, 32, plain),
    base: slider(texts.base, bases, 10000, plain),
    layout: oneName(texts.layout, layouts, 'interleaved', (value) => texts[value]),
    column: slider(texts.column, columns, 6, plain),
  };
  return figure(chapter, { name: 'map', caption: texts.caption }, fields, (section, { dim, base, column, layout }) => {
    const map = fieldGroup(texts.hint, (cell) => section.set({ column: cell.column }));
    const chart = lineChart(190);
    return {
      controls: [together(dim, base, column), more(chapter.frame, layout.element)],
      picture: [map.element, chart.element],
      show(values) {
        const { dim: D, base: b, layout: l } = values;
        const table = { dim: D, base: b, layout: l, positions: { length } };
        const rows = core.sinusoidal(table);
        const periods = wavelengths(core, values.dim, values.base);
        const shown = Math.min(values.column, values.dim - 1);
        const { pair, wave } = columnOf(shown, table);
        const period = measure(periods[pair] ?? 0);
        column.show(shown, values.dim - 1);
        const at = (p: number, c: number): number => rows[p * values.dim + c] ?? 0;
        map.update({
          fields: [
            {
              label: texts.label,
              legend: texts.legend,
              rows: length,
              columns: values.dim,
              values: rows,
              scale: 'diverging',
              limit: 1,
              rowTitle: texts.position,
              columnTitle: texts.columns,
              rowName: plain,
              columnName: plain,
              print: (v) => fixed(v, 1),
              largestCell: 64,
              tallest: 330,
              framedColumn: shown,
            },
          ],
          tell(cell) {
            const { pair, wave } = columnOf(cell.column, table);
            const wavelength = measure(periods[pair] ?? 0);
            return texts.cell(
              plain(cell.row),
              plain(cell.column),
              wave,
              plain(pair),
              wavelength,
              fixed(at(cell.row, cell.column), 3),
            );
          },
          print: plain,
        });
        chart.update({
          label: texts.wave(plain(shown)),
          x: { title: texts.position, min: 0, max: length - 1, ticks: [0, 16, 32, 48, 64, 80, 95], print: plain },
          y: { title: texts.wave(plain(shown)), min: -1.1, max: 1.1, ticks: [-1, 0, 1], print: plain },
          series: [
            {
              name: texts.wave(plain(shown)),
              look: 'quiet', // colours are signs here
              kind: 'stems',
              points: whole(0, length - 1).map((p) => [p, at(p, shown)]),
            },
          ],
        });
        return {
          summary: texts.summary(plain(shown), wave, plain(pair), period),
          code: program({}, `const result = rw.sinusoidal(${literal(table)});   // [${length}, ${values.dim}]`),
          table: () => [
            {
              caption: texts.label,
              corner: texts.position,
              columns: whole(0, values.dim - 1).map(plain),
              rows: whole(0, length - 1).map((p) => ({
                name: plain(p),
                values: Array.from(rows.subarray(p * values.dim, (p + 1) * values.dim)),
              })),
              print: (value) => fixed(value, 3),
            },
          ],
        };
      },
      end() {
        map.destroy();
        chart.destroy();
      },
    };
  });
}
