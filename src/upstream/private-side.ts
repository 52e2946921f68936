import { NO_ABILITIES } from '../core/abilities.ts';
import type { Abilities, JsonObject } from '../core/call.ts';
import { HeddleError, UpstreamError } from '../core/errors.ts';
import { type ConnectionUser, capabilitiesOfUser, ownerOf } from '../core/private-user.ts';
import { type AbleLists, ableLists } from './able-lists.ts';
import type { Connection, ConnectOptions } from './connection.ts';
import type { KeepListsOptions } from './keep-lists.ts';
import { type LineOwner, sharesMainLine } from './lines.ts';
import type { Era } from './negotiate.ts';
import { privateFeed } from './private-feed.ts';
import type { ServerOptions } from './server-options.ts';

interface PrivateSideOptions extends Pick<KeepListsOptions, 'clock' | 'alarm' | 'signal'> {
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
export interface PrivateSide extends LineOwner {
  readonly able: AbleLists;
  /** Tests whether a user belongs on the shared connection, as far as is known before there is one. */
  usesShared(user: ConnectionUser): boolean;
}

export function privateSide(given: PrivateSideOptions): PrivateSide {
  const { options, known, main, listeners, inTime, remember, ...keeping } = given;
  const { plan, subscriptions, onPrivateList, onPrivateEnd, onNotification } = options;
  const able = ableLists({
    remembered: options.knownAble,
    onTools(abilities, tools) {
      options.onAbleTools(abilities, tools);
      remember(abilities, tools);
    },
  });

  function connect(can: Abilities, hear: ConnectOptions['hear'], era = known()): Promise<Connection> {
    const { connect, name: server } = plan;
    if (HeddleError.is(connect)) return Promise.reject(connect);
    return inTime((signal) => connect({ ...listeners, server, known: era, can, signal, hear }));
  }

  // The shared connection on which the server turned out to speak the modern era alone.
  let modernOnlyOn: Connection | undefined;

  function usesShared(user: ConnectionUser, eraIfDown = known()): boolean {
    if (!options.user && !user.can && !user.caller.can) return true; // Most calls: their clients declare no capabilities.
    const shared = main();
    const era = shared?.agreement.era ?? eraIfDown;
    if (!era || plan.scope === 'builtin') return true; // What comes with Heddle never asks.
    const maySpeakLegacy = plan.protocol === undefined && (!modernOnlyOn || modernOnlyOn !== shared);
    return sharesMainLine({ era, only: options.user, maySpeakLegacy }, user);
  }

  /** Opens a legacy connection to a server whose shared connection is modern. */
  async function connectLegacy(can: Abilities, hear: ConnectOptions['hear']): Promise<Connection> {
    const shared = main();
    const connection = await connect(can, hear, 'legacy');
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
    openLine(user: ConnectionUser, hear) {
      const can = capabilitiesOfUser(user) ?? NO_ABILITIES;
      return (main()?.agreement.era ?? known()) === 'modern' ? connectLegacy(can, hear) : connect(can, hear);
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
