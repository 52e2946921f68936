import { openWatchdog, type Watchdog } from '../../process/watchdog.ts';
import { type Connections, openConnections } from './connections.ts';
import type { ConnectionOptions, OpenDatabase } from './database.ts';

interface DriverParts {
  /** Ends the children in which SQLite runs with this process. */
  readonly watchdog: Watchdog;
}

// Loaded with the first call of their kind.
const DRIVERS: Readonly<Record<ConnectionOptions['type'], (parts: DriverParts) => Promise<OpenDatabase>>> = {
  postgres: async () => (await import('./postgres/open-postgres-database.ts')).openPostgresDatabase,
  mysql: async () => (await import('./mysql/open-mysql.ts')).openMysql,
  sqlite: async (parts) => {
    const { openSqliteDatabase } = await import('./sqlite/open-sqlite-database.ts');
    return (connection, signal) => openSqliteDatabase(connection, signal, parts);
  },
};

/** Returns a function that opens databases of every type. */
export const databaseOpener =
  (parts: DriverParts): OpenDatabase =>
  async (connection, signal) =>
    (await DRIVERS[connection.type](parts))(connection, signal);

/** Returns the databases of a process that serves nothing else. Opens none. */
export function openOwnConnections(list: readonly ConnectionOptions[]): Connections {
  const watchdog = openWatchdog();
  const connections = openConnections({ list: () => list, open: databaseOpener({ watchdog }) });
  return {
    ...connections,
    async close() {
      await connections.close();
      watchdog.close();
    },
  };
}
