type OnMessage = (message: never, extra?: never) => void;

/**
 * Delivers the messages of an SDK client transport in separate turns of the event loop.
 * The SDK drops progress that it reads in the same turn as the result, which happens on a busy machine.
 */
export function oneMessagePerTurn<T extends object>(transport: T): T {
  let handler: OnMessage | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const deliver: OnMessage = (message, extra) => {
    last = last.then(() => new Promise((resolve) => setImmediate(resolve))).then(() => handler?.(message, extra));
  };
  Object.defineProperty(transport, 'onmessage', {
    configurable: true,
    get: () => handler && deliver,
    set: (next: OnMessage | undefined) => {
      handler = next;
    },
  });
  return transport;
}
