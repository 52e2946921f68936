/** Wakes operations that wait for an event: the decision of an approval, the end of a child, a resolution. */
export interface RunEvents {
  /** Returns a promise for the next event of this key. Ask for it before the state is read, so that none is lost. */
  next(key: string): Promise<void>;
  /** Reports an event; without a key, of every key. */
  report(key?: string): void;
}

/** The keys of events. */
export const eventKeys = {
  approval: (id: string) => `approval ${id}`,
  child: (run: string) => `child ${run}`,
  doubt: (path: string) => `doubt ${path}`,
};

export function runEvents(): RunEvents {
  const waiting = new Map<string, PromiseWithResolvers<void>>();
  return {
    next(key) {
      const found = waiting.get(key) ?? Promise.withResolvers<void>();
      waiting.set(key, found);
      return found.promise;
    },
    report(key) {
      const keys = key === undefined ? [...waiting.keys()] : [key];
      for (const one of keys) {
        const found = waiting.get(one);
        waiting.delete(one);
        found?.resolve();
      }
    },
  };
}
