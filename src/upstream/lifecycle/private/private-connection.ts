import { hasAnyCapability } from '../../../core/call/client-capabilities.ts';
import type { ConnectionUser, PrivateUser } from '../../../core/call/private-user.ts';
import type { Connection, ConnectOptions } from '../../connection.ts';
import type { ServerPlan } from '../plan-server.ts';
import type { PrivateFeed } from './private-feed.ts';

/** The events of a private connection. */
export interface PrivateEvents {
  readonly onNotification: ConnectOptions['onNotification'];
  /**
   * Takes a connection whose credential was refused out of use. Returns false if it was out of use before: the refusal
   * is older than the last sign-in.
   */
  readonly onRefused: () => boolean;
}

/** The server that private connections belong to, and how to open one more. */
export interface ConnectionOwner {
  readonly name: string;
  readonly plan: Pick<ServerPlan, 'reconnect' | 'local' | 'credentials'>;
  openConnection(user: ConnectionUser, events: PrivateEvents): Promise<Connection>;
  /** Begins to follow lists, subscriptions and notifications of a private connection. */
  follow(user: ConnectionUser, connection: Connection): PrivateFeed | undefined;
}

/** A private connection, and the facts that decide whether it takes another call. */
export interface PrivateConnection {
  readonly owner: ConnectionOwner;
  readonly openedFor: ConnectionUser;
  readonly user: PrivateUser;
  /** On the first connection of its user: lists and notifications come from that one only. */
  feed: PrivateFeed | undefined;
  readonly opening: Promise<Connection>;
  connection: Connection | undefined;
  openedAt: number;
  /** The number of calls that were given this connection and are about to be sent. */
  claims: number;
  /** The session of all calls in flight; undefined if they are of several, or have none. */
  session: string | undefined;
  /** The sessions of its calls so far, the newest 1000. */
  readonly sessions: Set<string>;
  usedAt: number;
}

// As many as a caller may have in the gateway.
const MAX_SESSIONS = 1000;

/** Adds the session of a call. A dropped session is added again with its next call. */
export function addSession({ sessions }: PrivateConnection, session: string | undefined): void {
  if (session === undefined || sessions.has(session)) return;
  const [oldest] = sessions.add(session);
  if (sessions.size > MAX_SESSIONS) sessions.delete(oldest as string);
}

const IDLE_MS = 300_000;
// A user reads and thinks between two commands or messages, and expects the same page of a browser.
const SESSION_IDLE_MS = 3_600_000;

/** Returns how long a connection may be idle: longer for a command or a client with a session, which expect to go on. */
export const idleMsOf = ({ openedFor: { caller } }: PrivateConnection): number =>
  caller.via === 'cli' || caller.session !== undefined ? SESSION_IDLE_MS : IDLE_MS;

export const isBusy = ({ connection, claims }: PrivateConnection): boolean =>
  claims > 0 || (connection?.inFlight() ?? 0) > 0;

/** Tests whether a connection has to stay: it is opening, has calls in flight, or its subscriptions are wanted. */
export const isInUse = (entry: PrivateConnection): boolean =>
  entry.connection === undefined || isBusy(entry) || entry.feed?.isWanted() === true;

/** Tests whether the server may send input requests during a call. It does not during reads. */
export const getsRequests = ({ capabilities }: ConnectionUser): boolean =>
  capabilities !== undefined && hasAnyCapability(capabilities);

/**
 * Tests whether a connection takes one more call if its server sends requests that name no call. It does if it is idle,
 * if the call gets no input requests, or if all calls in flight are of its session: the same client gets the request.
 */
export function takesCallOf(entry: PrivateConnection, user: ConnectionUser): boolean {
  const { session } = user.caller;
  return !isBusy(entry) || !getsRequests(user) || (session !== undefined && entry.session === session);
}

// A caller sends in the turn in which it gets a connection, and then counts as in flight.
export const unclaimSoon = (entry: PrivateConnection): void => void setImmediate(() => entry.claims--);
