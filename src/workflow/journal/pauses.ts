/** The times in which operations waited for a person. They do not count for timeouts. */
export interface Pauses {
  open(path: string, at: number): void;
  close(path: string, at: number): void;
  /** Returns true while an operation below `path` waits. */
  isOpen(path: string): boolean;
  /** Returns the time since `since` in which an operation below `path` waited; undefined while one waits. */
  pausedMs(path: string, since: number): number | undefined;
}

interface Pause {
  readonly path: string;
  readonly from: number;
  to?: number;
}

/** Returns true if a path is `path` or below it. The empty path is the run. */
const isBelow = (one: string, path: string): boolean => path === '' || one === path || one.startsWith(`${path}/`);

/** Creates a list of pauses. `onChange` is called with the time at which one begins or ends. */
export function runPauses(onChange: (at: number) => void): Pauses {
  const pauses: Pause[] = [];
  return {
    open(path, from) {
      pauses.push({ path, from });
      onChange(from);
    },
    close(path, at) {
      const open = pauses.find((pause) => pause.path === path && pause.to === undefined);
      if (!open) return;
      open.to = Math.max(at, open.from);
      onChange(open.to);
    },
    isOpen: (path) => pauses.some((pause) => pause.to === undefined && isBelow(pause.path, path)),
    pausedMs(path, since) {
      const below = pauses.filter((pause) => isBelow(pause.path, path));
      if (below.some(({ to }) => to === undefined)) return undefined;
      let total = 0;
      let covered = since;
      for (const { from, to = from } of below.toSorted((one, other) => one.from - other.from)) {
        total += Math.max(0, to - Math.max(from, covered));
        covered = Math.max(covered, to);
      }
      return total;
    },
  };
}
