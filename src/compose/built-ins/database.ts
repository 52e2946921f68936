import type { Connections } from '../../builtin/database/connections.ts';
import type { Config } from '../../config/config.ts';
import type { JsonObject } from '../../core/call.ts';
import { VERSION } from '../../core/version.ts';
import { connectInMemory } from '../../upstream/transports/connect-in-memory.ts';
import { type BuiltIn, type BuiltInParts, builtInServer } from './built-in.ts';

const NAME = 'database';

/** Returns the built-in server of the database tools. Its connections are shared by all clients. */
export function builtInDatabase({ config, watchdog }: BuiltInParts): BuiltIn {
  let opened: Promise<Connections> | undefined;

  function connections(): Promise<Connections> {
    opened ??= openShared();
    return opened;
  }

  async function openShared(): Promise<Connections> {
    const [{ openConnections }, { databaseOpener }] = await Promise.all([
      import('../../builtin/database/connections.ts'),
      import('../../builtin/database/open-database.ts'),
    ]);
    return openConnections({ list: () => connectionsIn(config()), open: databaseOpener({ watchdog }) });
  }

  return {
    name: NAME,
    configOf(next) {
      const { connections: _, enabled: __, ...limits } = next.settings.builtins.database;
      const listed = connectionsIn(next);
      if (listed.length === 0) return undefined;
      const description = `Databases: ${listed.map(({ name }) => name).join(', ')}`;
      const revision = { version: VERSION, ...limits, connections: listed.map(withoutPassword) };
      return builtInServer({ name: NAME, description, revision });
    },
    connect: connectInMemory(async (transport) => {
      const { queryTimeoutMs, maxRows } = config().settings.builtins.database;
      const { serveDatabase } = await import('../../builtin/database/serve-database.ts');
      await serveDatabase(transport, { connections: await connections(), queryTimeoutMs, maxRows });
    }),
    async preview(tool, input, signal) {
      if (tool !== 'db_execute') return undefined;
      const { previewExecution } = await import('../../builtin/database/preview-execution.ts');
      return previewExecution(await connections(), input, signal);
    },
    // A failed import fails the call that needed it.
    update: () => void opened?.then((shared) => shared.update()).catch(() => {}),
    async findings(signal) {
      if (connectionsIn(config()).length === 0) return [];
      const { examineConnections } = await import('../../builtin/database/check-connections.ts');
      return examineConnections(await connections(), signal);
    },
    close: async () => (await opened)?.close(),
  };
}

type Connection = Config['settings']['builtins']['database']['connections'][number];

/**
 * Returns all of a connection that an approval depends on: one for a test database must not count for another. A
 * password may change, and its hash is not stored.
 */
function withoutPassword({ password: _, url, ...others }: Connection): JsonObject {
  if (url === undefined) return others;
  const address = new URL(url);
  address.password = '';
  return { ...others, url: address.href };
}

/** Returns the connections that the built-in server may use: none if a configured server replaces it. */
function connectionsIn({ settings, servers }: Config): readonly Connection[] {
  const { enabled, connections } = settings.builtins.database;
  return enabled && !servers.has(NAME) ? connections : [];
}
