import { abortable } from '../../../core/async/abortable.ts';
import { type ConnectionUser, ownerOf, userKey } from '../../../core/call/private-user.ts';
import type { Caller, JsonObject } from '../../../core/call.ts';
import { UpstreamError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/time.ts';
import type { Connection } from '../../connection.ts';
import { type DrainingConnections, drainingConnections } from '../draining.ts';
import { type OpenFailures, openFailures } from './open-failures.ts';
import {
  addSession,
  type ConnectionOwner,
  getsRequests,
  idleMsOf,
  isBusy,
  isInUse,
  type PrivateConnection,
  takesCallOf,
  unclaimSoon,
} from './private-connection.ts';
import type { PrivateFeed } from './private-feed.ts';
import { type PrivateLimitsOptions, privateLimits } from './private-limits.ts';

export interface PrivateConnectionsOptions extends PrivateLimitsOptions {
  readonly clock: Clock;
  readonly onOpened?: (server: string) => void;
}

const NONE: readonly PrivateConnection[] = [];
const NEVER = new AbortController().signal;

/**
 * Connections that belong to one principal each: a request of a legacy server can reach only the user it is about, and
 * a server with per-user credentials gets those of the caller. A principal has one per server and capability set: the
 * server receives exactly the capabilities of that client.
 */
export class PrivateConnections {
  readonly #clock: Clock;
  readonly #limits: PrivateLimitsOptions;
  readonly #onOpened: (server: string) => void;
  readonly #entries = new Set<PrivateConnection>();
  readonly #byUser = new WeakMap<ConnectionOwner, Map<string, readonly PrivateConnection[]>>();
  // Servers that once sent a request without saying during which call: each connection gets calls of one client.
  readonly #unrelated = new WeakSet<ConnectionOwner>();
  readonly #draining = new WeakMap<ConnectionOwner, DrainingConnections>();
  readonly #failures: OpenFailures;

  constructor(options: PrivateConnectionsOptions) {
    this.#clock = options.clock;
    this.#failures = openFailures(options.clock);
    this.#limits = options;
    this.#onOpened = options.onOpened ?? (() => {});
  }

  /** Returns an open connection of this user that takes one more call. */
  ready(owner: ConnectionOwner, user: ConnectionUser): Connection | undefined {
    const entry = this.#find(owner, user);
    return entry?.connection && this.#take(entry, entry.connection, user);
  }

  /** Returns a connection for a call of this user; opens one when there is none. An abort ends the wait, not the opening. */
  async open(owner: ConnectionOwner, user: ConnectionUser, signal: AbortSignal): Promise<Connection> {
    for (;;) {
      const found = this.#find(owner, user);
      const entry = found ?? this.#add(owner, user, 'claimed');
      const connection = await abortable(entry.opening, signal);
      const isTaken = found && this.#unrelated.has(owner) && !takesCallOf(found, user);
      if (!isTaken) return this.#take(entry, connection, user);
    }
  }

  /** Returns a connection of this user without the right to send a call on it; opens one when there is none. */
  async ensureOpen(owner: ConnectionOwner, user: ConnectionUser, signal: AbortSignal): Promise<Connection> {
    const [first = this.#add(owner, user)] = this.#of(owner, user);
    return abortable(first.opening, signal);
  }

  /** Returns an open connection of this user, without the right to send a call on it. */
  peek(owner: ConnectionOwner, user: ConnectionUser): Connection | undefined {
    return this.#of(owner, user).find(({ connection }) => connection)?.connection;
  }

  count(owner: ConnectionOwner): number {
    return this.#filter((entry) => entry.owner === owner).length;
  }

  /** Returns the lists and subscriptions on the private connection of a user, if it is open. */
  feedOf(owner: ConnectionOwner, user: ConnectionUser): PrivateFeed | undefined {
    return this.#of(owner, user).find(({ feed }) => feed)?.feed;
  }

  /** Returns the feed of a user; begins to follow an open connection of theirs when there is none. */
  ensureFeed(owner: ConnectionOwner, user: ConnectionUser): PrivateFeed | undefined {
    const known = this.feedOf(owner, user);
    if (known) return known;
    const open = this.#of(owner, user).find(({ connection }) => connection);
    if (open) this.#follow(open);
    return open?.feed;
  }

  /** Notifies the servers that the session of this caller has called: its roots have changed. */
  rootsChanged({ id, session }: Caller): void {
    for (const { user, sessions, connection } of this.#entries) {
      if (user.principal === id && session !== undefined && sessions.has(session)) connection?.rootsChanged?.();
    }
  }

  /** Drains connections without subscriptions that have been idle for 5 minutes, or for an hour: see `idleMsOf`. */
  sweep(): void {
    const now = this.#clock();
    for (const entry of this.#entries) {
      if (isInUse(entry)) entry.usedAt = now;
      else if (now - entry.usedAt >= idleMsOf(entry)) void this.#release(entry, 'drain');
    }
  }

  /** Forgets the failures of this user, and ends its connections after the calls in flight. */
  async renew(owner: ConnectionOwner, user: ConnectionUser): Promise<void> {
    this.#failures.delete(owner, user);
    await Promise.all(this.#of(owner, user).map((entry) => this.#release(entry, 'drain')));
  }

  /** Ends all connections of a server: at once, or after the calls in flight. */
  async end(owner: ConnectionOwner, how: 'close' | 'drain'): Promise<void> {
    const ended = this.#filter((entry) => entry.owner === owner).map((entry) => this.#release(entry, how));
    if (how === 'close') ended.push(this.#drainingOf(owner).close());
    await Promise.all(ended);
  }

  #filter(isWanted: (entry: PrivateConnection) => boolean): PrivateConnection[] {
    return [...this.#entries].filter(isWanted);
  }

  #of(owner: ConnectionOwner, user: ConnectionUser): readonly PrivateConnection[] {
    return this.#byUser.get(owner)?.get(userKey(ownerOf(user))) ?? NONE;
  }

  #insert(entry: PrivateConnection): void {
    const { owner, user } = entry;
    const users = this.#byUser.get(owner) ?? new Map<string, readonly PrivateConnection[]>();
    this.#byUser.set(owner, users.set(userKey(user), [...(users.get(userKey(user)) ?? NONE), entry]));
    this.#entries.add(entry);
  }

  #delete(entry: PrivateConnection): boolean {
    const users = this.#byUser.get(entry.owner);
    const key = userKey(entry.user);
    const others = users?.get(key)?.filter((other) => other !== entry) ?? NONE;
    if (others.length === 0) users?.delete(key);
    else users?.set(key, others);
    return this.#entries.delete(entry);
  }

  #find(owner: ConnectionOwner, user: ConnectionUser): PrivateConnection | undefined {
    for (const entry of this.#of(owner, user)) {
      if (entry.connection?.sendsUnrelatedRequests()) this.#unrelated.add(owner);
      if (!this.#unrelated.has(owner) || takesCallOf(entry, user)) return entry;
    }
    return undefined;
  }

  #take(entry: PrivateConnection, connection: Connection, user: ConnectionUser): Connection {
    const { session } = user.caller;
    entry.usedAt = this.#clock();
    addSession(entry, session);
    if (!isBusy(entry)) entry.session = session;
    else if (getsRequests(user) && entry.session !== session) entry.session = undefined;
    entry.claims++;
    unclaimSoon(entry);
    return connection;
  }

  #add(owner: ConnectionOwner, openedFor: ConnectionUser, claimed?: 'claimed'): PrivateConnection {
    this.#failures.check(owner, openedFor);
    this.#makeRoom(owner, openedFor);
    const opening = owner.openConnection(openedFor, {
      onNotification: (method: string, params: JsonObject) => entry.feed?.onNotification(method, params),
      onRefused: () => {
        const isInUse = this.#entries.has(entry);
        if (isInUse) void this.#release(entry, 'drain');
        return isInUse;
      },
    });
    const { session } = openedFor.caller;
    const unused = {
      feed: undefined,
      connection: undefined,
      openedAt: 0,
      claims: claimed ? 1 : 0,
      session,
      sessions: new Set<string>(),
      usedAt: this.#clock(),
    };
    const entry: PrivateConnection = { owner, openedFor, user: ownerOf(openedFor), opening, ...unused };
    this.#insert(entry);
    opening.then(
      (connection) => {
        entry.connection = connection;
        this.#onOpened(owner.name);
        this.#failures.delete(owner, openedFor);
        entry.openedAt = entry.usedAt = this.#clock();
        if (claimed) unclaimSoon(entry);
        this.#follow(entry);
        connection.closed.then(() => this.#lost(entry));
      },
      (thrown: unknown) => {
        // A connection that was released while it opened failed for that reason.
        if (this.#delete(entry)) this.#failures.add(owner, openedFor, thrown);
      },
    );
    return entry;
  }

  /** Follows a connection unless another one of the same user is followed, or it was released meanwhile. */
  #follow(entry: PrivateConnection): void {
    const { owner, openedFor, connection } = entry;
    if (!connection || !this.#entries.has(entry) || this.feedOf(owner, openedFor)) return;
    entry.feed = owner.follow(openedFor, connection);
  }

  #lost(entry: PrivateConnection): void {
    if (!this.#delete(entry)) return;
    const lived = this.#clock() - entry.openedAt;
    const isWanted = entry.feed?.isWanted() && lived >= entry.owner.plan.reconnect.delayMs;
    this.#unfollow(entry);
    // A connection lost soon after it opened may be lost again: it is reopened with the next health check.
    if (isWanted) this.ensureOpen(entry.owner, entry.openedFor, NEVER).catch(() => {});
  }

  /** Ends the feed of a connection; another connection of the same user takes its place. */
  #unfollow(entry: PrivateConnection): void {
    if (!entry.feed) return;
    entry.feed.end();
    entry.feed = undefined;
    this.ensureFeed(entry.owner, entry.openedFor);
  }

  /** Drains an idle connection for each limit that one more would exceed. Throws if all are in use. */
  #makeRoom(owner: ConnectionOwner, user: ConnectionUser): void {
    for (const { most, counts, reason } of privateLimits(this.#limits, owner, user)) {
      const counted = this.#filter(counts);
      if (counted.length >= most && !this.#releaseOne(counted)) throw full(owner.name, reason);
    }
  }

  /**
   * Drains the connection that has been idle longest, first those that only listed: they hold no state of a client.
   * Returns false when all have calls in flight or subscriptions.
   */
  #releaseOne(among: readonly PrivateConnection[]): boolean {
    const idle = among.filter((entry) => !isInUse(entry));
    const hasState = ({ connection }: PrivateConnection) => Number(connection?.hasSentCall() ?? false);
    const [first] = idle.sort((a, b) => hasState(a) - hasState(b) || a.usedAt - b.usedAt);
    if (first) void this.#release(first, 'drain');
    return first !== undefined;
  }

  async #release(entry: PrivateConnection, how: 'close' | 'drain'): Promise<void> {
    this.#delete(entry);
    this.#unfollow(entry);
    const connection = await entry.opening.catch(() => undefined);
    await (how === 'close' ? connection?.close() : this.#drainingOf(entry.owner).add(connection));
  }

  #drainingOf(owner: ConnectionOwner): DrainingConnections {
    const known = this.#draining.get(owner) ?? drainingConnections();
    this.#draining.set(owner, known);
    return known;
  }
}

const full = (server: string, reason: string) =>
  new UpstreamError('UPSTREAM_UNREACHABLE', `No connection to ${server} can be opened for this call: ${reason}.`, {
    delivered: 'no',
    fix: 'Wait until a call in flight has ended, or end a resource subscription, then call again.',
  });
