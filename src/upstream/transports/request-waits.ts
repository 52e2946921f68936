/** Delays of single requests. They keep the process alive, because a call is in flight. */
export interface RequestWaits {
  /** Settles after the delay, or when the request is given up. */
  wait(id: number, ms: number): Promise<void>;
  end(id: number): void;
}

export function requestWaits(): RequestWaits {
  const ends = new Map<number, () => void>();
  return {
    wait(id, ms) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(end, ms);
      function end(): void {
        clearTimeout(timer);
        ends.delete(id);
        resolve();
      }
      ends.set(id, end);
      return promise;
    },
    end: (id) => ends.get(id)?.(),
  };
}
