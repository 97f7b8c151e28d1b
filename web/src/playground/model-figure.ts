// The reader's model: files by picker or drop, or a small one that is made here; what it is and the memory it takes.
import type { ChapterState } from '../chapters/chapter';
import { button, stepControl, whole } from '../controls';
import { h } from '../dom';
import { type Figure, figure } from '../figure';
import { refusal } from '../refusal';
import { choice, oneOf } from '../state';
import { type NumberTableData, numberTable } from '../views/number-table';
import { workBar } from '../views/work-bar';
import { sortFiles } from './files';
import { modelCode } from './model-code';
import { isSame, session } from './session';

const tinyKinds = ['none', 'decoder', 'encoder'] as const;
const seeds = whole(1, 20);
const mebibyte = 2 ** 20;

export function playgroundModel(chapter: ChapterState<'playground'>): Figure {
  const texts = chapter.texts.playground.model;
  const { plain, fixed } = chapter.numbers;
  const fields = { tiny: choice(tinyKinds, 'none'), seed: oneOf(seeds, 1) };
  return figure(chapter, { name: 'model', caption: texts.caption }, fields, (section) => {
    // What was given so far; a config.json may come before its weights.
    let given: File[] = [];
    let showAgain: () => void = () => undefined;
    const take = (files: Iterable<File>): void => {
      given = [...given, ...files];
      const { files: complete } = sortFiles(given);
      if (complete !== undefined) {
        section.set({ tiny: 'none' });
        void session.open(complete);
        given = [];
      }
      showAgain();
    };
    const input = h('input', { type: 'file', multiple: true, hidden: true, 'aria-label': texts.choose });
    input.addEventListener('change', () => {
      take(input.files ?? []);
      // The same file again is a change, too.
      input.value = '';
    });
    const picker = button(texts.choose, () => input.click());
    const zone = h('div', { class: 'drop-zone' }, picker, h('span', {}, texts.drop), input);
    zone.addEventListener('dragover', (event) => {
      event.preventDefault();
      zone.classList.add('over');
    });
    zone.addEventListener('dragleave', () => zone.classList.remove('over'));
    zone.addEventListener('drop', (event) => {
      event.preventDefault();
      zone.classList.remove('over');
      take(event.dataTransfer?.files ?? []);
    });
    const make = (kind: 'decoder' | 'encoder') => button(texts.make[kind], () => section.set({ tiny: kind }));
    const seed = stepControl(chapter.texts.playground.seed, seeds, plain, (value) =>
      section.set({ seed: value }, 'seed'),
    );
    const work = workBar(chapter.texts.figure, texts.loading, plain, () => session.cancel());
    const notice = h('p', { class: 'notice', role: 'status' });
    const refused = refusal(chapter.texts.figure);
    const tables = [numberTable(), numberTable()];
    let wanted = '';

    // A link may ask for a small model; a state without one, that was reached by "back", for none.
    function follow({ tiny, seed }: { tiny: (typeof tinyKinds)[number]; seed: number }): void {
      const key = `${tiny} ${seed}`;
      if (key === wanted) return;
      wanted = key;
      const source = session.loading?.source ?? session.ready?.source;
      if (tiny !== 'none') {
        if (!isSame(source, { kind: tiny, seed })) void session.tiny(tiny, seed);
      } else if (source !== undefined && source.kind !== 'files') session.close();
    }

    function data(): NumberTableData[] {
      const { ready, memory } = session;
      const row = (name: string, value: number | undefined) => ({ name, values: [value] });
      const { names } = texts;
      const facts = ready && {
        caption: texts.about(ready.facts.architecture, texts.kinds[ready.facts.kind]),
        corner: '',
        columns: [texts.number],
        rows: (['parameters', 'layers', 'heads', 'kvHeads', 'headDim', 'vocabSize', 'base', 'maxLength'] as const).map(
          (name) => row(names[name], ready.facts[name]),
        ),
        print: plain,
      };
      const bytes = memory && {
        caption: texts.memory,
        corner: '',
        columns: ['MiB'],
        rows: [
          ...(ready ? [row(names.weights, ready.facts.bytes)] : []),
          ...(['usedBytes', 'peak', 'heapBytes'] as const).map((name) => row(names[name], memory[name])),
        ],
        print: (value: number) => fixed(value / mebibyte, 2),
      };
      return [...(facts ? [facts] : []), ...(bytes ? [bytes] : [])];
    }

    const stop = session.subscribe(() => showAgain());
    return {
      controls: [
        zone,
        h('div', { class: 'row' }, make('decoder'), make('encoder')),
        h('div', { class: 'pair-of-controls' }, seed.element),
        work.element,
      ],
      picture: [notice, refused.element, h('div', { class: 'model-tables' }, ...tables.map(({ element }) => element))],
      again(show) {
        showAgain = show;
      },
      show(values) {
        follow(values);
        seed.show(values.seed);
        seed.element.hidden = values.tiny === 'none';
        work.show(session.loading?.share);
        const { missing } = sortFiles(given);
        const names = given.map(({ name }) => name).join(', ');
        const wants = missing.map((each) => texts.missing[each]).join(' ');
        const waiting = given.length > 0 ? `${texts.given(names)} ${wants}` : '';
        if (notice.textContent !== waiting) notice.textContent = waiting;
        refused.show(session.failure?.message);
        const all = data();
        for (const [i, table] of tables.entries()) {
          const one = all[i];
          table.element.hidden = one === undefined;
          if (one !== undefined) table.update(one);
        }
        const { ready } = session;
        return {
          summary:
            ready === undefined
              ? session.loading
                ? texts.loading
                : texts.none
              : texts.summary(
                  ready.facts.architecture,
                  plain(ready.facts.parameters),
                  fixed(ready.facts.bytes / mebibyte, 2),
                ),
          code: modelCode(
            ready?.source ?? { kind: 'files' },
            undefined,
            'const { parameters, bytes } = model.info;\nconst { usedBytes } = rw.memory();\nconst result = [parameters, bytes, usedBytes];',
          ),
          table: data,
        };
      },
      end: stop,
    };
  });
}
