import { openWatchdog, type Watchdog } from '../../process/watchdog.ts';
import { type Connections, openConnections } from './connections.ts';
import type { ConnectionOptions, OpenDatabase } from './database.ts';
import { DatabaseFailure } from './database-failure.ts';

interface DriverParts {
  /** Ends the children in which SQLite runs with this process. */
  readonly watchdog: Watchdog;
}

// Loaded with the first call of their kind.
const DRIVERS: Readonly<Partial<Record<ConnectionOptions['type'], (parts: DriverParts) => Promise<OpenDatabase>>>> = {
  postgres: async () => (await import('./postgres/open-postgres-database.ts')).openPostgresDatabase,
  sqlite: async (parts) => {
    const { openSqliteDatabase } = await import('./sqlite/open-sqlite-database.ts');
    return (connection, signal) => openSqliteDatabase(connection, signal, parts);
  },
};

/** Returns a function that opens databases of every type. */
export const databaseOpener =
  (parts: DriverParts): OpenDatabase =>
  async (connection, signal) => {
    const load = DRIVERS[connection.type];
    if (!load) throw new DatabaseFailure('DRIVER_MISSING', `There is no driver for ${connection.type}.`);
    return (await load(parts))(connection, signal);
  };

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
