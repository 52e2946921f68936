import type { ConnectionUser } from '../../core/call/private-user.ts';
import { ownerOf, type PrivateUser } from '../../core/call/private-user.ts';
import type { Connection } from '../connection.ts';
import type { PrivateConnections } from './private-connections.ts';
import type { Server } from './server.ts';
import type { Subscriptions } from './subscriptions.ts';

/** A subscription to a resource of a server, with the user of its connection. */
export interface Subscribed {
  readonly uri: string;
  /** The private user; undefined for the shared connection. */
  readonly user: ConnectionUser | undefined;
}

/** The connections of all servers, shared and private. All that a client does uses the connection of its calls. */
export interface ConnectionPool {
  /** The open line that this call may use, if there is one. */
  ready(name: string, call: ConnectionUser): Connection | undefined;
  /** The line that this call may use, opened when there is none. */
  lineFor(name: string, call: ConnectionUser, signal: AbortSignal): Promise<Connection>;
  /** The open shared connection, if this call uses it. */
  shared(name: string, call: ConnectionUser): Connection | undefined;
  /** Connects a server; returns whose private connection a call uses, or undefined for the shared one. */
  privateUserFor(name: string, call: ConnectionUser, signal: AbortSignal): Promise<PrivateUser | undefined>;
  /** Fetches the lists that a caller sees and that are known to have changed; undefined when there are none. */
  settleLists(name: string, user: ConnectionUser): Promise<void> | undefined;
  /** Subscribes on the connection that this user's calls use, as often as it is asked for, over reconnects. */
  subscribe(name: string, what: Subscribed, signal: AbortSignal): Promise<void>;
  unsubscribe(name: string, what: Subscribed, signal: AbortSignal): Promise<void>;
}

export interface PoolOptions {
  readonly lines: PrivateConnections;
  readonly find: (name: string) => Server | undefined;
  /** Uses a server, and its successor when a newer configuration replaced it meanwhile. */
  readonly using: <T>(name: string, signal: AbortSignal, use: (server: Server) => Promise<T>) => Promise<T>;
}

export function connectionPool({ lines, find, using }: PoolOptions): ConnectionPool {
  const subscriptionsOf = ({ subscriptions }: Server, user: ConnectionUser | undefined): Subscriptions =>
    user ? subscriptions.of(user) : subscriptions.shared;

  const lineFor: ConnectionPool['lineFor'] = (name, call, signal) =>
    using(name, signal, async (server) => {
      const main = await server.connect(signal);
      const ready = server.ready(call);
      if (ready) return ready;
      return lines.open(server.privately, call, signal).catch((thrown) => {
        // On a modern connection every client is served, if not with requests during its calls.
        if (main.agreement.era !== 'modern' || signal.aborted) throw thrown;
        return main;
      });
    });

  return {
    lineFor,
    ready: (name, call) => find(name)?.ready(call),
    shared(name, call) {
      const server = find(name);
      return server?.usesShared(call) ? server.connection : undefined;
    },
    privateUserFor: (name, call, signal) =>
      using(name, signal, async (server) => {
        await server.connect(signal);
        if (!server.usesShared(call)) await lineFor(name, call, signal);
        return server.usesShared(call) ? undefined : ownerOf(call);
      }),
    settleLists: (name, user) => find(name)?.settleLists(user),
    subscribe: (name, { uri, user }, signal) =>
      using(name, signal, async (server) => {
        await (user ? lineFor(name, user, signal) : server.connect(signal));
        if (user) lines.ensureFeed(server.privately, user);
        await subscriptionsOf(server, user).add(uri, signal);
      }),
    async unsubscribe(name, { uri, user }, signal) {
      const server = find(name);
      if (server) await subscriptionsOf(server, user).remove(uri, signal);
    },
  };
}
