import type { JsonObject } from '../../core/call.ts';
import type { Connect, Connection, ConnectOptions } from '../connection.ts';
import { type ListRefresher, type RefreshListsOptions, refreshLists } from './refresh-lists.ts';

/** The shared connection of a server, with its lists. */
export interface SharedConnection {
  readonly connection: Connection;
  readonly lists: ListRefresher;
  /** The result of the handshake, for the status of the server. */
  readonly info: JsonObject;
  readonly openedAt: number;
}

/** Opens a connection and fetches its lists. If the tools cannot be listed, closes it. */
export async function openSharedConnection(
  connect: Connect,
  options: ConnectOptions,
  refresh: RefreshListsOptions,
): Promise<SharedConnection> {
  const startedAt = performance.now();
  const lists = refreshLists(refresh);
  const onNotification = (method: string, params: JsonObject) => {
    lists.onNotification(method);
    options.onNotification(method, params);
  };
  const connection = await connect({ ...options, onNotification });
  try {
    await lists.begin(connection, options.signal);
  } catch (thrown) {
    lists.close();
    await connection.close();
    throw thrown;
  }
  const { era, protocolVersion, serverInfo, capabilities, instructions } = connection.agreement;
  const connectMs = Math.round(performance.now() - startedAt);
  const info = { era, protocolVersion, serverInfo, capabilities, instructions, connectMs };
  return { connection, lists, info, openedAt: refresh.clock() };
}
