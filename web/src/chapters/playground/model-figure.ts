// The reader's model: files by picker or drop, or a small one that is made here; what it is and the memory it takes.
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider } from '../../figure/settings';
import type { Numbers } from '../../i18n/language';
import { literal } from '../../programs/literal';
import { button, whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import { refusal } from '../../ui/refusal';
import { choice } from '../../ui/state';
import { type NumberTableData, numberTable } from '../../views/number-table';
import { workBar } from '../../views/work-bar';
import { absentParts, isOfUse, latestOf, sortFiles } from './files';
import type { Texts } from './i18n/en';
import { modelCode } from './model-code';
import { session } from './session';
import { isSame } from './source';

const tinyKinds = ['none', 'decoder', 'encoder', 'trained'] as const;
const seeds = whole(1, 20);
const mebibyte = 2 ** 20;

// What was given so far, a config.json that came before its weights; also in the figure of another language.
let given: readonly File[] = [];
// Files of the last lot that no model has; parts of the model that an index names and that did not come.
let useless: readonly File[] = [];
let absent: readonly string[] = [];
// Files of weights of which one is to be given.
let rivals: readonly File[] = [];
// The small model that was asked for last. The figure of another language does not ask again, or a load that was
// cancelled would begin anew.
let wanted = '';

// The numbers of both tables; what is in use is that of the program.
const facts = ['parameters', 'layers', 'heads', 'kvHeads', 'headDim', 'vocabSize', 'base', 'maxLength'] as const;
const memoryNames = ['usedBytes', 'peak', 'heapBytes'] as const;
const factsCode = `const facts = factsOf(model, config);
const { bytes } = facts;
const { ${memoryNames.join(', ')} } = rw.memory();
const result = [
  ...${literal(facts)}.map((name) => facts[name]),
  ...[bytes, ${memoryNames.join(', ')}].map((size) => size / 2 ** 20),
];`;

const fewNames = 5;
const listOf = (names: readonly string[]): string =>
  [...names.slice(0, fewNames), ...(names.length > fewNames ? ['…'] : [])].join(', ');
const namesOf = (files: readonly File[]): string => listOf(files.map(({ name }) => name));

// A file that misses its zone is not for the browser to open in place of the page.
function catchFiles(event: DragEvent): void {
  if (!event.dataTransfer?.types.includes('Files')) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = 'none';
}

// Files by picker or drop.
function dropZone(texts: Texts['model'], take: (files: readonly File[]) => void): HTMLElement {
  const input = h('input', { type: 'file', multiple: true, hidden: true, 'aria-label': texts.choose });
  input.addEventListener('change', () => {
    take([...(input.files ?? [])]);
    // The same file again is a change, too.
    input.value = '';
  });
  const picker = button(texts.choose, () => input.click());
  const zone = h('div', { class: 'drop-zone' }, picker, h('span', {}, texts.drop), input);
  zone.addEventListener('dragover', (event) => {
    event.preventDefault();
    event.stopPropagation();
    zone.classList.add('over');
  });
  zone.addEventListener('dragleave', () => zone.classList.remove('over'));
  zone.addEventListener('drop', (event) => {
    event.preventDefault();
    event.stopPropagation();
    zone.classList.remove('over');
    take([...(event.dataTransfer?.files ?? [])]);
  });
  return zone;
}

// What is known of the model, and the memory that it takes.
function tablesOf(texts: Texts['model'], { plain, fixed }: Numbers): NumberTableData[] {
  const { ready, memory } = session;
  const row = (name: string, value: number | undefined) => ({ name, values: [value] });
  const { names } = texts;
  const about = ready && {
    caption: texts.about(ready.facts.architecture, texts.kinds[ready.facts.kind]),
    corner: '',
    columns: [texts.number],
    rows: facts.map((name) => row(names[name], ready.facts[name])),
    print: plain,
  };
  const bytes = memory && {
    caption: texts.memory,
    corner: '',
    columns: ['MiB'],
    rows: [
      ...(ready ? [row(names.weights, ready.facts.bytes / mebibyte)] : []),
      ...memoryNames.map((name) => row(names[name], memory[name] / mebibyte)),
    ],
    print: (value: number) => fixed(value, 2),
  };
  return [...(about ? [about] : []), ...(bytes ? [bytes] : [])];
}

// What was given and cannot be used yet, and what it waits for.
function waitingFor(texts: Texts['model']): string {
  const wants = sortFiles(given).missing.map((each) => texts.missing[each]);
  if (absent.length > 0) wants.push(texts.absent(listOf(absent)));
  return [
    ...(useless.length > 0 ? [texts.useless(namesOf(useless))] : []),
    ...(rivals.length > 0 ? [texts.rivals(namesOf(rivals))] : []),
    ...(given.length > 0 ? [texts.given(namesOf(given)), ...wants] : []),
  ].join(' ');
}

function summaryOf({ texts: { model: texts }, frame, numbers: { plain, fixed } }: ChapterState<Texts>): string {
  const { ready, loading, isCancelled } = session;
  if (ready === undefined) {
    return loading ? texts.loading : `${isCancelled ? `${frame.figure.cancelled} ` : ''}${texts.none}`;
  }
  const { architecture, parameters, bytes } = ready.facts;
  return texts.summary(architecture, plain(parameters), fixed(bytes / mebibyte, 2));
}

export function playgroundModel(chapter: ChapterState<Texts>): Figure {
  const texts = chapter.texts.model;
  const { plain } = chapter.numbers;
  const fields = { tiny: choice(tinyKinds, 'none'), seed: slider(chapter.texts.seed, seeds, 1, plain) };
  return figure(chapter, { name: 'model', caption: texts.caption }, fields, (section, { seed }) => {
    let showAgain: () => void = () => undefined;
    const forget = (): void => {
      [given, useless, absent, rivals] = [[], [], [], []];
    };
    const take = async (files: readonly File[]): Promise<void> => {
      if (files.length === 0) return;
      useless = files.filter((file) => !isOfUse(file));
      const lot = latestOf(files.filter(isOfUse));
      // What is a model by itself is not to be mixed with what came before.
      const all = sortFiles(lot).files ? lot : latestOf([...given, ...lot]);
      const { files: complete, rivals: several } = sortFiles(all);
      rivals = several;
      given = all.filter((file) => !several.includes(file));
      const own = given;
      const missed = complete ? await absentParts(complete) : [];
      if (given !== own) return;
      absent = missed;
      if (complete !== undefined && absent.length === 0) {
        section.set({ tiny: 'none' });
        void session.open(complete);
        forget();
      }
      showAgain();
    };
    const zone = dropZone(texts, (files) => void take(files));
    const make = (kind: keyof Texts['model']['make']) =>
      button(texts.make[kind], () => {
        forget();
        // Also after one that failed or was cancelled.
        wanted = '';
        section.set({ tiny: kind });
        showAgain();
      });
    const work = workBar(chapter.frame.figure, texts.loading, plain, () => session.cancel());
    const notice = h('p', { class: 'notice', role: 'status' });
    const refused = refusal(chapter.frame.figure);
    const tables = [numberTable(), numberTable()];
    const box = h('div', { class: 'model-tables' }, ...tables.map(({ element }) => element));

    // A link may ask for a small model; a state without one, that was reached by "back", for none.
    function follow({ tiny, seed }: { tiny: (typeof tinyKinds)[number]; seed: number }): void {
      const key = `${tiny} ${seed}`;
      if (key === wanted) return;
      wanted = key;
      const source = (session.loading ?? session.ready)?.source;
      if (tiny !== 'none') {
        if (isSame(source, { kind: tiny, seed })) return;
        void (tiny === 'trained' ? session.open() : session.tiny(tiny, seed));
      } else if (source !== undefined && source.kind !== 'files') session.close();
    }

    const data = (): NumberTableData[] => tablesOf(texts, chapter.numbers);
    const stop = session.subscribe(() => showAgain());
    for (const type of ['dragover', 'drop'] as const) addEventListener(type, catchFiles);
    return {
      controls: [
        zone,
        h('div', { class: 'settings' }, make('trained'), make('decoder'), make('encoder'), seed.element),
        work.element,
      ],
      picture: [notice, refused.element, box],
      again(show) {
        showAgain = show;
      },
      show(values) {
        follow(values);
        seed.element.hidden = values.tiny === 'none' || values.tiny === 'trained';
        work.show(session.loading?.share);
        const waiting = waitingFor(texts);
        if (notice.textContent !== waiting) notice.textContent = waiting;
        refused.show(session.failure?.message);
        const all = data();
        box.hidden = all.length === 0;
        for (const [i, table] of tables.entries()) {
          const one = all[i];
          table.element.hidden = one === undefined;
          if (one !== undefined) table.update(one);
        }
        const { ready } = session;
        return {
          summary: summaryOf(chapter),
          isEmpty: all.length === 0,
          code: ready === undefined ? '' : modelCode(ready, undefined, factsCode),
          table: data,
        };
      },
      reset() {
        forget();
        session.close();
      },
      end() {
        stop();
        for (const type of ['dragover', 'drop'] as const) removeEventListener(type, catchFiles);
      },
    };
  });
}
