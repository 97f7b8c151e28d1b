// The worker's side of ./threads-for.ts.
import type { ThreadWorker } from 'ropewalk/threads';
import type { FromThread, ToThread } from './protocol';

/** A worker for load(), which the page makes for this one. */
export function threadOfPage(): ThreadWorker {
  const { port1: port, port2 } = new MessageChannel();
  postMessage({ kind: 'thread' }, { transfer: [port2] });
  const send = (message: ToThread): void => port.postMessage(message);
  return {
    postMessage: (start) => send({ kind: 'start', start }),
    terminate: () => send({ kind: 'end' }),
    addEventListener(type, listener) {
      port.addEventListener('message', ({ data }: MessageEvent<FromThread>) => {
        if (data.type === type) listener(data);
      });
      port.start();
    },
  };
}
