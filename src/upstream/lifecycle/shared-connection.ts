import { capabilitiesKey, inputFlags } from '../../core/call/client-capabilities.ts';
import { type ConnectionUser, capabilitiesOfUser } from '../../core/call/private-user.ts';
import type { ClientCapabilities, JsonObject } from '../../core/call.ts';
import type { Era } from '../../wire/mcp.ts';
import type { Connect, Connection, ConnectOptions } from '../connection.ts';
import { toConnectFailure } from '../failure.ts';
import { type ListRefresher, type RefreshListsOptions, refreshLists } from './refresh-lists.ts';

/** The user of a process that serves one user only. */
export interface SoleUser {
  readonly principal: string;
  readonly capabilities: ClientCapabilities;
  /** The era of their client: a server of both eras is spoken to in this one. */
  readonly era?: 'legacy' | 'modern';
  /** True when every call shares the connection, also where the server does not say which call a request is for. */
  readonly hasOneConnection?: true;
}

/** Tests whether the only user has a legacy client that answers requests during its calls. */
export const prefersLegacy = (only: SoleUser | undefined): boolean =>
  only?.era === 'legacy' && inputFlags(only.capabilities) !== 0;

/** The facts that decide which users share a connection. */
export interface SharingFacts {
  readonly era: Era;
  readonly only: SoleUser | undefined;
  /** False once the server is known to speak the modern era alone. */
  readonly maySpeakLegacy: boolean;
  /** Tests whether the server has an extension. */
  readonly hasExtension: (id: string) => boolean;
}

/**
 * Tests whether a user belongs on the shared connection: there all users have the same capabilities. An extension that
 * the server does not have makes no difference.
 */
export function canUseSharedConnection(facts: SharingFacts, user: ConnectionUser): boolean {
  const { era, only, maySpeakLegacy, hasExtension } = facts;
  const capabilities = capabilitiesOfUser(user);
  // A modern request carries the capabilities of its client. Only a legacy client may need requests during its call.
  if (era === 'modern') {
    const isLegacy = user.caller.era === 'legacy' && handlesInput(capabilities);
    return !isLegacy || !maySpeakLegacy || user.caller.id === only?.principal;
  }
  if (only && capabilitiesKey(only.capabilities) !== 0) return user.caller.id === only.principal;
  return !handlesInput(capabilities) && !Object.keys(capabilities?.extensions ?? {}).some(hasExtension);
}

const handlesInput = (capabilities: ClientCapabilities | undefined): boolean =>
  capabilities !== undefined && inputFlags(capabilities) !== 0;

/** Tests whether a shared connection takes one more call of the sole user. */
export const takesAnother = (shared: Connection, only: SoleUser | undefined): boolean =>
  !only || only.hasOneConnection === true || !shared.sendsUnrelatedRequests() || shared.inFlight() === 0;

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
    throw toConnectFailure(options.server, thrown);
  }
  const { era, protocolVersion, serverInfo, capabilities, instructions } = connection.agreement;
  const connectMs = Math.round(performance.now() - startedAt);
  const info = { era, protocolVersion, serverInfo, capabilities, instructions, connectMs };
  return { connection, lists, info, openedAt: refresh.clock() };
}
