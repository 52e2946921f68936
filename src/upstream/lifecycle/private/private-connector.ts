import { type ConnectionUser, ownerOf } from '../../../core/call/private-user.ts';
import { UpstreamError } from '../../../core/errors.ts';
import type { Era } from '../../../wire/mcp.ts';
import type { Connection } from '../../connection.ts';
import { canUseSharedConnection } from '../shared-connection.ts';
import { connectFor, type PrivateConnector, type PrivateConnectorOptions } from './connect-for.ts';
import type { PrivateEvents } from './private-connection.ts';
import { type PrivateFeed, privateFeed } from './private-feed.ts';
import { userConnector } from './user-connector.ts';

export const privateConnector = (connector: PrivateConnectorOptions): PrivateConnector =>
  connector.options.plan.credentials === 'user' ? userConnector(connector) : besideShared(connector);

/** Opens the private connections of a server that also has a shared one. */
function besideShared(connector: PrivateConnectorOptions): PrivateConnector {
  const { options, definitions, shared } = connector;
  const { plan } = options;
  const cachedEra = () => definitions.era.known();

  // The shared connection on which the server turned out to speak the modern era alone.
  let modernOnlyOn: Connection | undefined;

  function usesShared(user: ConnectionUser, eraIfDown: Era | undefined = cachedEra()): boolean {
    if (!options.user && !user.capabilities && !user.caller.capabilities) return true; // Most calls: their clients declare no capabilities.
    const connection = shared();
    const era = connection?.agreement.era ?? eraIfDown;
    if (!era || plan.scope === 'builtin') return true; // Built-in servers send no requests.
    const maySpeakLegacy = plan.protocol === undefined && (!modernOnlyOn || modernOnlyOn !== connection);
    const { has: hasExtension } = definitions.extensions;
    return canUseSharedConnection({ era, only: options.user, maySpeakLegacy, hasExtension }, user);
  }

  /** Opens a legacy connection to a server whose shared connection is modern. */
  async function connectLegacy(user: ConnectionUser, { onNotification }: PrivateEvents): Promise<Connection> {
    const sharedBefore = shared();
    const connection = await connectFor(connector, user, { onNotification, known: 'legacy' });
    if (connection.agreement.era === 'legacy') return connection;
    modernOnlyOn = sharedBefore;
    await connection.close();
    throw modernOnly(plan.name);
  }

  return {
    name: plan.name,
    plan,
    usesShared: (user) => usesShared(user),
    openConnection(user, events) {
      const { onNotification } = events;
      return (shared()?.agreement.era ?? cachedEra()) === 'modern'
        ? connectLegacy(user, events)
        : connectFor(connector, user, { onNotification, known: cachedEra() });
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
    const hasLostSession = () => connection.lostSession() !== undefined;
    capabilityLists.begin(capabilitySet, { listed, closed: connection.closed, isFresh, hasLostSession });
  }
  return feed;
}

const modernOnly = (server: string) =>
  new UpstreamError('UPSTREAM_REFUSED', `${server} speaks the modern era only.`, { delivered: 'no' });
