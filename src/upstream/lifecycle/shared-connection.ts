import type { JsonObject } from '../../core/call.ts';
import type { Connect, Connection, ConnectOptions } from '../connection.ts';
import { type ListRefresher, type RefreshListsOptions, refreshLists } from './refresh-lists.ts';

/** The line of a server that its lists and its notifications come on. */
export interface SharedConnection {
  readonly connection: Connection;
  readonly lists: ListRefresher;
  /** What the server said of itself. */
  readonly info: JsonObject;
  readonly openedAt: number;
}

/** Opens a line and learns what the server has. When its tools cannot be had, nothing is left open. */
export async function openSharedConnection(
  connect: Connect,
  options: ConnectOptions,
  keeping: RefreshListsOptions,
): Promise<SharedConnection> {
  const startedAt = performance.now();
  const lists = refreshLists(keeping);
  const hear = (method: string, params: JsonObject) => {
    lists.onNotification(method);
    options.onNotification(method, params);
  };
  const connection = await connect({ ...options, onNotification: hear });
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
  return { connection, lists, info, openedAt: keeping.clock() };
}
