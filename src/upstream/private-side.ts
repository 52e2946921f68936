import { NO_ABILITIES } from '../core/abilities.ts';
import type { Abilities, JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { type ConnectionUser, capabilitiesOfUser, ownerOf } from '../core/private-user.ts';
import { type AbleLists, ableLists } from './able-lists.ts';
import type { Connection, ConnectOptions } from './connection.ts';
import type { KeepListsOptions } from './keep-lists.ts';
import type { LineOwner } from './lines.ts';
import type { Era } from './negotiate.ts';
import { privateFeed } from './private-feed.ts';
import type { ServerOptions } from './server-options.ts';

interface PrivateSideOptions extends Pick<KeepListsOptions, 'clock' | 'alarm' | 'signal'> {
  readonly options: ServerOptions;
  /** The era to begin with, and who hears of trouble. */
  readonly known: () => Era | undefined;
  readonly listeners: Pick<ConnectOptions, 'onTrouble' | 'onAuthNeeded'>;
  /** True for users whose lists and subscriptions are on the shared connection. */
  readonly isShared: (user: ConnectionUser) => boolean;
  readonly inTime: <T>(task: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  /** Remembers the tools that a new connection with these capabilities lists. */
  readonly remember: (abilities: number, tools: readonly JsonObject[]) => void;
}

/** The private connections of one server: how they are opened, and where their lists and notifications go. */
export interface PrivateSide extends LineOwner {
  readonly able: AbleLists;
}

export function privateSide(given: PrivateSideOptions): PrivateSide {
  const { options, known, listeners, isShared, inTime, remember, ...keeping } = given;
  const { plan, subscriptions, onPrivateList, onPrivateEnd, onNotification } = options;
  const able = ableLists({
    remembered: options.knownAble,
    onTools(abilities, tools) {
      options.onAbleTools(abilities, tools);
      remember(abilities, tools);
    },
  });

  function connect(can: Abilities, hear: ConnectOptions['hear']): Promise<Connection> {
    const { connect, name: server } = plan;
    if (HeddleError.is(connect)) return Promise.reject(connect);
    return inTime((signal) => connect({ ...listeners, server, known: known(), can, signal, hear }));
  }

  return {
    name: plan.name,
    plan,
    able,
    openLine: (user: ConnectionUser, hear) => connect(capabilitiesOfUser(user) ?? NO_ABILITIES, hear),
    follow(of, connection) {
      if (isShared(of)) return undefined;
      const user = ownerOf(of);
      const feed = privateFeed(connection, {
        ...keeping,
        subscriptions: subscriptions.of(of),
        onList(kind, items, isFirst) {
          if (isFirst && kind === 'tools' && user.abilities !== 0) able.take(user.abilities, items);
          onPrivateList(user, kind, items);
        },
        onNotification: (method, params) => onNotification(method, params, user),
        onEnd: () => onPrivateEnd(user),
      });
      if (user.abilities !== 0) able.begin(user.abilities, feed.listed, connection.closed);
      return feed;
    },
  };
}
