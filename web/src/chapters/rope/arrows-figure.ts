// A primer of complex numbers: the arrow of length 1 that turns with the position, and what it makes of another number.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider, together, toggle } from '../../figure/settings';
import { call, program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { type TurningArrow, turningArrows } from '../../views/turning-arrows';
import type { Texts } from './i18n/en';
import { products } from './programs';
import { shown } from './programs.js?shown';

// By the names that they have in formulas.
const rows = ['u', 'z', 'uz', 'z*', 'uz*'] as const;

export function ropeArrows(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const { arrows: texts, derivation } = chapter.texts;
  const { plain, fixed } = chapter.numbers;
  const fields = { m: slider(texts.m, whole(0, 20), 3, plain, 'query'), star: toggle(texts.star, false) };
  return figure(chapter, { name: 'arrows', caption: texts.caption }, fields, (_, { m, star }) => {
    const view = turningArrows();
    return {
      controls: [together(m, star)],
      picture: [view.element],
      show(values) {
        const { angle, numbers } = products(core, values.m);
        const [unit = [1, 0], z = unit] = numbers;
        const own = Math.atan2(z[1], z[0]);
        const angles = [angle, own, angle + own, -own, angle - own];
        const arrows = rows.map((name, i): TurningArrow => {
          const [x, y] = numbers[i] ?? unit;
          const isUnit = name === 'u';
          const isStarred = name.includes('*');
          return {
            ...{ name, label: name, look: isUnit ? 'query' : name.includes('u') ? 'third' : 'key' },
            ...{ angle: angles[i] ?? 0, length: Math.hypot(x, y), hasShadow: isUnit, hasCircle: isUnit },
            isFaint: name === 'z' && values.star,
            isShown: isUnit || name === 'z' || isStarred === values.star,
          };
        });
        view.update(texts.label, arrows);
        const degrees = (radians: number): string => fixed((radians * 180) / Math.PI, 1);
        const [name, other] = values.star ? ['z*', -own] : ['z', own];
        const sum = `${unit.map((part) => fixed(part, 2)).join(' + ')}i`.replace('+ −', '− ');
        return {
          summary: texts.summary(degrees(angle), sum, name, degrees(other), degrees(angle + other)),
          code: program(shown, `const result = ${call('products', values.m)}.numbers.flat();`),
          table: () => [
            {
              caption: texts.label,
              corner: derivation.arrow,
              columns: derivation.columns,
              rows: rows.map((name, i) => ({ name, values: numbers[i] ?? [] })),
              print: (value) => fixed(value, 4),
            },
          ],
        };
      },
    };
  });
}
