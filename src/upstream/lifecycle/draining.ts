import type { Connection } from '../connection.ts';

/** Lines that take no more calls and come to their end by themselves, or at once when somebody cannot wait. */
export interface DrainingConnections {
  /** Settles when the line has come to its end. */
  add(line: Connection | undefined): Promise<void>;
  close(): Promise<void>;
}

export function drainingConnections(): DrainingConnections {
  const lines = new Set<Connection>();
  return {
    async add(line) {
      if (!line) return;
      lines.add(line);
      await line.drain().finally(() => lines.delete(line));
    },
    close: async () => void (await Promise.all([...lines].map((line) => line.close()))),
  };
}
