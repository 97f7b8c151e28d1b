// Threads for a worker of the page, made by the page. A worker of Firefox that makes one itself may wait for ever: where
// something watches the workers, such as the browser's tools, its maker and the new worker sleep on one condition, of
// which one sleeper is woken.
import address from 'ropewalk/thread.js?url';
import type { FromThread, ToThread } from './protocol';

/** Makes what `owner` asks for by threadOfPage(). Gives a function that ends them all. */
export function threadsFor(owner: Worker): () => void {
  const threads = new Set<Worker>();
  owner.addEventListener('message', ({ data, ports: [port] }: MessageEvent<{ readonly kind?: string }>) => {
    if (data.kind !== 'thread' || port === undefined) return;
    const thread = new Worker(address, { type: 'module' });
    threads.add(thread);
    const tell = (message: FromThread): void => port.postMessage(message);
    thread.addEventListener('message', () => tell({ type: 'message' }));
    thread.addEventListener('error', ({ message }) => tell({ type: 'error', message }));
    port.addEventListener('message', ({ data }: MessageEvent<ToThread>) => {
      if (data.kind === 'start') {
        thread.postMessage(data.start);
      } else {
        thread.terminate();
        threads.delete(thread);
        port.close();
      }
    });
    port.start();
  });
  return () => {
    for (const thread of threads) thread.terminate();
  };
}
