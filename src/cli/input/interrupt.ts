import type { Readable } from 'node:stream';

/** Aborts at the first Ctrl-C or SIGTERM; a second one ends the process as it would have. */
export function untilInterrupted(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => controller.abort());
  return controller.signal;
}

const LOOK_MS = 500;

/** Aborts when the input has ended because whoever started this process is gone: nobody is left to answer. */
export function untilAbandoned(input: Readable): AbortSignal {
  const controller = new AbortController();
  const { ppid } = process;
  const timer = setInterval(() => {
    if (!input.readableEnded || process.ppid === ppid) return;
    clearInterval(timer);
    controller.abort();
  }, LOOK_MS).unref();
  return controller.signal;
}
