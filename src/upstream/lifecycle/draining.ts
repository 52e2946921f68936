import type { Connection } from '../connection.ts';

/** Connections that take no new calls and close when their calls in flight have ended. */
export interface DrainingConnections {
  /** Settles when the connection is closed. */
  add(connection: Connection | undefined): Promise<void>;
  /** Closes all of them at once. */
  close(): Promise<void>;
}

export function drainingConnections(): DrainingConnections {
  const connections = new Set<Connection>();
  return {
    async add(connection) {
      if (!connection) return;
      connections.add(connection);
      await connection.drain().finally(() => connections.delete(connection));
    },
    close: async () => void (await Promise.all([...connections].map((connection) => connection.close()))),
  };
}
