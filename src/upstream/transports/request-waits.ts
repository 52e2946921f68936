/** Waits on behalf of single requests. Until one ends a call is under way, so it may keep the process alive. */
export interface RequestWaits {
  /** Settles after so long, or when the request is given up. */
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
