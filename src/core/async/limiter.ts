/**
 * Lets at most `limit` tasks run at once; the others wait in order of arrival. A task that runs longer than `holdMs`
 * releases its slot and goes on, so that hanging tasks cannot block the rest.
 */
export function limiter(limit: number, holdMs?: number): <T>(task: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];

  function leave(): void {
    const next = waiting.shift();
    if (next)
      next(); // The slot passes to the next task, so no new task can take it.
    else running--;
  }

  return async function limited(task) {
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    let holds = true;
    const leaveOnce = () => {
      if (holds) leave();
      holds = false;
    };
    const timer = holdMs === undefined ? undefined : setTimeout(leaveOnce, holdMs).unref();
    try {
      return await task();
    } finally {
      clearTimeout(timer);
      leaveOnce();
    }
  };
}
