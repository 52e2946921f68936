import { NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import { type ConnectionUser, capabilitiesOfUser, ownerOf } from '../../core/call/private-user.ts';
import type { ClientCapabilities, JsonObject } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { Connection, ConnectOptions } from '../connection.ts';
import type { Era } from '../protocol/negotiate.ts';
import { type CapabilityLists, capabilityLists } from './capability-lists.ts';
import { type ConnectionOwner, canUseSharedConnection } from './private-connections.ts';
import { privateFeed } from './private-feed.ts';
import type { RefreshListsOptions } from './refresh-lists.ts';
import type { ServerOptions } from './server-options.ts';

interface PrivateSideOptions extends Pick<RefreshListsOptions, 'clock' | 'timer' | 'signal'> {
  readonly options: ServerOptions;
  /** The era to begin with, and who hears of trouble. */
  readonly known: () => Era | undefined;
  /** The open shared connection. */
  readonly main: () => Connection | undefined;
  readonly listeners: Pick<ConnectOptions, 'onTrouble' | 'onAuthNeeded'>;
  readonly inTime: <T>(task: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  /** Remembers the tools that a new connection with these capabilities lists. */
  readonly remember: (abilities: number, tools: readonly JsonObject[]) => void;
}

/** The private connections of one server: how they are opened, and where their lists and notifications go. */
export interface PrivateSide extends ConnectionOwner {
  readonly able: CapabilityLists;
  /** Tests whether a user belongs on the shared connection, as far as is known before there is one. */
  usesShared(user: ConnectionUser): boolean;
}

export function privateSide(given: PrivateSideOptions): PrivateSide {
  const { options, known, main, listeners, inTime, remember, ...keeping } = given;
  const { plan, subscriptions, onPrivateList, onPrivateEnd, onNotification } = options;
  const able = capabilityLists({
    remembered: options.knownAble,
    onTools(abilities, tools) {
      options.onAbleTools(abilities, tools);
      remember(abilities, tools);
    },
  });

  function connect(
    capabilities: ClientCapabilities,
    hear: ConnectOptions['onNotification'],
    era = known(),
  ): Promise<Connection> {
    const { connect, name: server } = plan;
    if (HeddleError.is(connect)) return Promise.reject(connect);
    return inTime((signal) =>
      connect({ ...listeners, server, known: era, capabilities, signal, onNotification: hear }),
    );
  }

  // The shared connection on which the server turned out to speak the modern era alone.
  let modernOnlyOn: Connection | undefined;

  function usesShared(user: ConnectionUser, eraIfDown = known()): boolean {
    if (!options.user && !user.capabilities && !user.caller.capabilities) return true; // Most calls: their clients declare no capabilities.
    const shared = main();
    const era = shared?.agreement.era ?? eraIfDown;
    if (!era || plan.scope === 'builtin') return true; // What comes with Heddle never asks.
    const maySpeakLegacy = plan.protocol === undefined && (!modernOnlyOn || modernOnlyOn !== shared);
    return canUseSharedConnection({ era, only: options.user, maySpeakLegacy }, user);
  }

  /** Opens a legacy connection to a server whose shared connection is modern. */
  async function connectLegacy(
    capabilities: ClientCapabilities,
    hear: ConnectOptions['onNotification'],
  ): Promise<Connection> {
    const shared = main();
    const connection = await connect(capabilities, hear, 'legacy');
    if (connection.agreement.era === 'legacy') return connection;
    modernOnlyOn = shared;
    await connection.close();
    throw modernOnly(plan.name);
  }

  return {
    name: plan.name,
    plan,
    able,
    usesShared: (user) => usesShared(user),
    openConnection(user: ConnectionUser, hear) {
      const capabilities = capabilitiesOfUser(user) ?? NO_CAPABILITIES;
      return (main()?.agreement.era ?? known()) === 'modern'
        ? connectLegacy(capabilities, hear)
        : connect(capabilities, hear);
    },
    follow(of, connection) {
      if (usesShared(of, connection.agreement.era)) return undefined;
      const user = ownerOf(of);
      const isFresh = () => !connection.hasSentCall();
      const feed = privateFeed(connection, {
        ...keeping,
        subscriptions: subscriptions.of(of),
        onList(kind, items) {
          if (kind === 'tools' && user.abilities !== 0) able.take(user.abilities, items, isFresh());
          onPrivateList(user, kind, items);
        },
        onNotification: (method, params) => onNotification(method, params, user),
        onEnd: () => onPrivateEnd(user),
      });
      const { listed } = feed;
      if (user.abilities !== 0 && isFresh()) able.begin(user.abilities, { listed, closed: connection.closed, isFresh });
      return feed;
    },
  };
}

const modernOnly = (server: string) =>
  new UpstreamError('UPSTREAM_REFUSED', `${server} speaks the modern era only.`, { delivered: 'no' });
