// RoPE by hand: four numbers, two pairs, every intermediate number.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider } from '../../figure/settings';
import { call, partsOf, program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { type NumberTableData, numberTable } from '../../views/number-table';
import type { Texts } from './i18n/en';
import { worked } from './programs';
import { shown } from './programs.js?shown';

const positions = whole(0, 12);

export function ropeWorked(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.worked;
  const { plain, fixed, significant } = chapter.numbers;
  const fields = { m: slider(texts.m, positions, 2, plain) };
  return figure(chapter, { name: 'worked', caption: texts.caption }, fields, (_, { m }) => {
    const steps = numberTable('steps');
    return {
      controls: [m.element],
      picture: [steps.element],
      show(values) {
        const { q, angles, cos, partner, sin, turned, frequencies } = worked(core, values.m);
        const data: NumberTableData = {
          caption: texts.table(plain(values.m)),
          corner: texts.coordinate,
          columns: whole(0, 3).map(plain),
          rows: [
            { name: texts.q, values: q },
            { name: texts.angle, values: angles },
            { name: 'cos', values: cos },
            { name: texts.partner, values: partner },
            { name: 'sin', values: sin },
            { name: texts.turned, values: turned },
          ],
          print: (value) => (Number.isInteger(value) ? plain(value) : fixed(value, 4)),
        };
        steps.update(data);
        const part = (value: number | undefined): string => fixed(value ?? 0, 4);
        const factor = (value: number | undefined): string => ((value ?? 0) < 0 ? `(${part(value)})` : part(value));
        return {
          summary: texts.summary(
            significant(frequencies[1] ?? 0, 2),
            `${plain(q[0] ?? 0)} × ${factor(cos[0])} − ${plain(q[1] ?? 0)} × ${factor(sin[0])} ≈ ${part(turned[0])}`,
          ),
          code: program(shown, partsOf(call('worked', values.m), 'q', 'angles', 'cos', 'partner', 'sin', 'turned')),
          table: () => [data],
        };
      },
    };
  });
}
