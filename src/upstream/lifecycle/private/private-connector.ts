import { NO_CAPABILITIES } from '../../../core/call/client-capabilities.ts';
import { type ConnectionUser, capabilitiesOfUser, ownerOf } from '../../../core/call/private-user.ts';
import { HeddleError, UpstreamError } from '../../../core/errors.ts';
import type { Era } from '../../../wire/mcp.ts';
import type { Connection, ConnectOptions } from '../../connection.ts';
import type { RefreshListsOptions } from '../refresh-lists.ts';
import type { ServerDefinitions } from '../server-definitions.ts';
import type { ServerOptions } from '../server-options.ts';
import { canUseSharedConnection } from '../shared-connection.ts';
import type { ConnectionOwner } from './private-connections.ts';
import { type PrivateFeed, privateFeed } from './private-feed.ts';

interface PrivateConnectorOptions extends Pick<RefreshListsOptions, 'clock' | 'timer' | 'signal'> {
  readonly options: ServerOptions;
  readonly definitions: ServerDefinitions;
  /** Returns the shared connection if it is open. */
  readonly shared: () => Connection | undefined;
  readonly handlers: Pick<ConnectOptions, 'onTrouble' | 'onAuthNeeded'>;
  readonly withDeadline: <T>(task: (signal: AbortSignal) => Promise<T>) => Promise<T>;
}

/** Opens the private connections of one server, and passes their lists and notifications on to their users. */
export interface PrivateConnector extends ConnectionOwner {
  /** Tests whether a user belongs on the shared connection. Uses the cached era while there is no connection. */
  usesShared(user: ConnectionUser): boolean;
}

export function privateConnector(connector: PrivateConnectorOptions): PrivateConnector {
  const { options, definitions, shared, handlers, withDeadline } = connector;
  const { plan } = options;
  const cachedEra = () => definitions.era.known();

  function connect(
    user: ConnectionUser,
    onNotification: ConnectOptions['onNotification'],
    era = cachedEra(),
  ): Promise<Connection> {
    const { connect, name: server } = plan;
    if (HeddleError.is(connect)) return Promise.reject(connect);
    const urlTransport = definitions.urlTransport();
    const { caller } = user;
    const capabilities = capabilitiesOfUser(user) ?? NO_CAPABILITIES;
    const options = { ...handlers, server, caller, known: era, urlTransport, capabilities, onNotification };
    return withDeadline((signal) => connect({ ...options, signal }));
  }

  // The shared connection on which the server turned out to speak the modern era alone.
  let modernOnlyOn: Connection | undefined;

  function usesShared(user: ConnectionUser, eraIfDown: Era | undefined = cachedEra()): boolean {
    if (!options.user && !user.capabilities && !user.caller.capabilities) return true; // Most calls: their clients declare no capabilities.
    const connection = shared();
    const era = connection?.agreement.era ?? eraIfDown;
    if (!era || plan.scope === 'builtin') return true; // Built-in servers send no requests.
    const maySpeakLegacy = plan.protocol === undefined && (!modernOnlyOn || modernOnlyOn !== connection);
    return canUseSharedConnection({ era, only: options.user, maySpeakLegacy }, user);
  }

  /** Opens a legacy connection to a server whose shared connection is modern. */
  async function connectLegacy(
    user: ConnectionUser,
    onNotification: ConnectOptions['onNotification'],
  ): Promise<Connection> {
    const sharedBefore = shared();
    const connection = await connect(user, onNotification, 'legacy');
    if (connection.agreement.era === 'legacy') return connection;
    modernOnlyOn = sharedBefore;
    await connection.close();
    throw modernOnly(plan.name);
  }

  return {
    name: plan.name,
    plan,
    usesShared: (user) => usesShared(user),
    openConnection(user, onNotification) {
      return (shared()?.agreement.era ?? cachedEra()) === 'modern'
        ? connectLegacy(user, onNotification)
        : connect(user, onNotification);
    },
    follow: (user, connection) =>
      usesShared(user, connection.agreement.era) ? undefined : followPrivate(user, connection, connector),
  };
}

/** Follows a private connection. Its tools count for all clients with its capabilities until a call was sent on it. */
function followPrivate(of: ConnectionUser, connection: Connection, connector: PrivateConnectorOptions): PrivateFeed {
  const { options, definitions, clock, timer, signal } = connector;
  const { capabilityLists } = definitions;
  const user = ownerOf(of);
  const { capabilitySet } = user;
  const isFresh = () => !connection.hasSentCall();
  const feed = privateFeed(connection, {
    clock,
    timer,
    signal,
    subscriptions: options.subscriptions.of(of),
    onList(kind, items) {
      if (kind === 'tools' && capabilitySet !== 0) capabilityLists.take(capabilitySet, items, isFresh());
      options.onPrivateList(user, kind, items);
    },
    onNotification: (method, params) => options.onNotification(method, params, user),
    onEnd: () => options.onPrivateEnd(user),
  });
  const { listed } = feed;
  if (capabilitySet !== 0 && isFresh()) {
    capabilityLists.begin(capabilitySet, { listed, closed: connection.closed, isFresh });
  }
  return feed;
}

const modernOnly = (server: string) =>
  new UpstreamError('UPSTREAM_REFUSED', `${server} speaks the modern era only.`, { delivered: 'no' });
