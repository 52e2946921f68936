/** Lets at most `limit` tasks run at once; the others wait in order of arrival. */
export function limiter(limit: number): <T>(task: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];

  return async function limited(task) {
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next)
        next(); // The place is handed over, so nobody can slip in between.
      else running--;
    }
  };
}
