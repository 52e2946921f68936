/** A publisher with any number of readers, each at its own pace. */
export interface Feed<T> {
  publish(item: T): void;
  /**
   * Returns the items from now on that pass `isWanted`, until the signal aborts or the feed closes. A reader with more
   * than 1000 unread items loses the first expendable one, else the oldest.
   */
  read(signal: AbortSignal, isWanted?: (item: T) => boolean): AsyncIterable<T>;
  close(): void;
}

const MAX_WAITING = 1000;

export function feed<T>(isExpendable: (item: T) => boolean = () => false): Feed<T> {
  const readers = new Set<(item: T) => void>();
  const closers = new Set<() => void>();

  async function* drain(waiting: T[], wake: { call: () => void }, isOpen: () => boolean): AsyncGenerator<T> {
    while (isOpen() || waiting.length > 0) {
      while (waiting.length > 0) yield waiting.shift() as T;
      if (isOpen()) await new Promise<void>((resolve) => Object.assign(wake, { call: resolve }));
    }
  }

  return {
    publish(item) {
      for (const read of readers) read(item);
    },
    read(signal, isWanted = () => true) {
      const waiting: T[] = [];
      const wake = { call: () => {} };
      let open = !signal.aborted;
      const read = (item: T) => {
        if (!isWanted(item)) return;
        waiting.push(item);
        if (waiting.length > MAX_WAITING) waiting.splice(Math.max(0, waiting.findIndex(isExpendable)), 1);
        wake.call();
      };
      const close = () => {
        open = false;
        readers.delete(read);
        closers.delete(close);
        signal.removeEventListener('abort', close);
        wake.call();
      };
      if (open) {
        // Registered before the first `next()`, so that no item in between is lost.
        readers.add(read);
        closers.add(close);
        signal.addEventListener('abort', close, { once: true });
      }
      const items = drain(waiting, wake, () => open);
      return {
        [Symbol.asyncIterator]: () => ({
          next: () => items.next(),
          async return() {
            close();
            return items.return(undefined);
          },
        }),
      };
    },
    close() {
      for (const close of [...closers]) close();
    },
  };
}
