// Starts work that takes a while, shows how far it is, and cancels it.
import { button } from '../ui/controls';
import { h } from '../ui/dom';

export interface WorkControl {
  readonly element: HTMLElement;
  /** Ends what is running, if anything is. */
  cancel(): void;
}

export interface WorkTexts {
  readonly run: string;
  readonly cancel: string;
  readonly cancelled: string;
  readonly progress: (percent: string) => string;
}

/** @param work gets a signal that stops it and a function to report its progress. */
export function workControl(
  texts: WorkTexts,
  print: (value: number) => string,
  work: (signal: AbortSignal, progress: (share: number) => void) => Promise<void>,
): WorkControl {
  const bar = h('progress', { max: 1, value: 0, 'aria-label': texts.run });
  const said = h('span', { role: 'status' });
  let running: AbortController | undefined;

  async function start(): Promise<void> {
    const own = new AbortController();
    running = own;
    toggle.textContent = texts.cancel;
    bar.hidden = false;
    bar.value = 0;
    said.textContent = '';
    let told = 0;
    try {
      await work(own.signal, (share) => {
        bar.value = share;
        // Each quarter is told; more would talk over the reader.
        if (share < told + 0.25) return;
        told = Math.floor(share * 4) / 4;
        said.textContent = texts.progress(print(Math.round(told * 100)));
      });
      said.textContent = '';
    } catch (error) {
      said.textContent = own.signal.aborted ? texts.cancelled : String(error);
    } finally {
      running = undefined;
      toggle.textContent = texts.run;
      bar.hidden = true;
    }
  }
  const toggle = button(texts.run, () => (running ? running.abort() : void start()));
  bar.hidden = true;
  return {
    element: h('div', { class: 'work' }, toggle, bar, said),
    cancel: () => running?.abort(),
  };
}
