// M-RoPE: three numbers for each token, and which pairs follow which of them.
import { type MropeSegment, mropePositions, type Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { more } from '../../figure/more';
import { slider } from '../../figure/settings';
import { literal } from '../../programs/literal';
import { program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import { type FieldGroupData, fieldGroup } from '../../views/field-group';
import type { Texts } from './i18n/en';
import { sectionAxes, segmentsOf } from './layouts';
import { axisOfPairs } from './programs';
import { shown } from './programs.js?shown';

// An axis as a share of the colours; the first of them is nearly that of the paper, and no kind's.
const kindOf = (axis: number): number => axis + 1;
const axisOf = (kind: number): number => kind - 1;

const [textCounts, sizes, frameCounts] = [whole(0, 4), whole(1, 4), whole(1, 3)];

const idsCode = (segments: readonly MropeSegment[]): string =>
  program(
    shown,
    `const { positions } = mropePositions(${literal(segments)});
const layouts = ${literal(sectionAxes)};
const axes = layouts.map((layout) => axisOfPairs(rw, layout));
const result = [...positions, ...axes].flatMap((numbers) => Array.from(numbers));`,
    "import { load, mropePositions } from 'ropewalk';",
  );

// Which axis each pair follows, in both layouts.
function pairsOf(texts: Texts['ids'], plain: (value: number) => string, pairs: readonly Int32Array[]): FieldGroupData {
  return {
    fields: [
      {
        title: texts.pairsTitle,
        label: texts.pairsTitle,
        legend: texts.axis,
        rows: pairs.length,
        columns: pairs[0]?.length ?? 0,
        values: pairs.flatMap((each) => Array.from(each, kindOf)),
        scale: 'sequential',
        limit: kindOf(2),
        whole: true,
        kinds: texts.axes.map((name, axis) => ({
          value: kindOf(axis),
          name: texts.lettered(texts.letters[axis] ?? '', name),
        })),
        largestCell: 200,
        tallest: 60,
        rowTitle: '',
        columnTitle: texts.pair,
        rowName: (row) => texts.layouts[row] ?? '',
        columnName: plain,
        print: (kind) => texts.letters[axisOf(kind)] ?? '',
      },
    ],
    tell: ({ row, column }) =>
      texts.pairCell(texts.layouts[row] ?? '', plain(column), texts.axes[pairs[row]?.[column] ?? 0] ?? ''),
    print: plain,
  };
}

export function axesIds(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.ids;
  const { plain } = chapter.numbers;
  const fields = {
    before: slider(texts.before, textCounts, 2, plain),
    rows: slider(texts.rows, sizes, 2, plain),
    columns: slider(texts.columns, sizes, 3, plain),
    frames: slider(texts.frames, frameCounts, 1, plain),
  };
  return figure(chapter, { name: 'ids', caption: texts.caption, wide: true }, fields, (_, controls) => {
    const { before, rows, columns, frames } = controls;
    const idMap = fieldGroup(chapter.frame.figure.cells);
    const pairMap = fieldGroup(texts.speeds);
    const pairs = sectionAxes.map((axes) => axisOfPairs(core, axes));
    const axisName = (axis: number): string => texts.axes[axis] ?? '';
    return {
      controls: [
        h('div', { class: 'pair-of-controls short' }, rows.element, columns.element, frames.element),
        more(chapter.frame, before.element),
      ],
      picture: [idMap.element, pairMap.element],
      show(values) {
        const segments = segmentsOf({ ...values, after: 3 });
        const { positions, length, next } = mropePositions(segments);
        const image = values.rows * values.columns * values.frames;
        const isImage = (token: number): boolean => token >= values.before && token < values.before + image;
        idMap.update({
          fields: [
            {
              title: texts.idsTitle,
              label: texts.idsTitle,
              legend: texts.position,
              rows: 3,
              columns: length,
              values: positions.flatMap((axis) => Array.from(axis)),
              scale: 'sequential',
              limit: Math.max(1, next - 1),
              whole: true,
              rowTitle: '',
              columnTitle: texts.token,
              rowName: axisName,
              columnName: plain,
              print: plain,
              largestCell: 200,
              tallest: 120,
              framedColumns: [values.before, values.before + image - 1],
            },
          ],
          tell: ({ row, column }) =>
            texts.cell(plain(column), isImage(column), axisName(row), plain(positions[row]?.[column] ?? 0)),
          print: plain,
        });
        pairMap.update(pairsOf(texts, plain, pairs));
        return {
          summary: texts.summary(plain(length), plain(image), plain(next)),
          code: idsCode(segments),
          table: () => [
            {
              caption: texts.idsTitle,
              corner: texts.token,
              columns: whole(0, length - 1).map(plain),
              rows: positions.map((axis, i) => ({ name: axisName(i), values: Array.from(axis) })),
              print: plain,
            },
            {
              caption: texts.pairsTitle,
              corner: texts.pair,
              columns: whole(0, (pairs[0]?.length ?? 0) - 1).map(plain),
              rows: pairs.map((each, i) => ({ name: texts.layouts[i] ?? '', values: Array.from(each) })),
              print: axisName,
              isNamed: true,
            },
          ],
        };
      },
      end() {
        idMap.destroy();
        pairMap.destroy();
      },
    };
  });
}
