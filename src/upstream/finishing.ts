import type { Connection } from './connection.ts';

/** Lines that take no more calls and come to their end by themselves, or at once when somebody cannot wait. */
export interface Finishing {
  add(line: Connection): Promise<void>;
  close(): Promise<void>;
}

export function finishing(): Finishing {
  const lines = new Set<Connection>();
  return {
    add(line) {
      lines.add(line);
      return line.finish().finally(() => lines.delete(line));
    },
    close: async () => void (await Promise.all([...lines].map((line) => line.close()))),
  };
}
