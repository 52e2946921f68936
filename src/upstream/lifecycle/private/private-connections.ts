import { abortable } from '../../../core/async/abortable.ts';
import { type ConnectionUser, isSameUser, ownerOf, type PrivateUser } from '../../../core/call/private-user.ts';
import type { JsonObject } from '../../../core/call.ts';
import { UpstreamError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/time.ts';
import type { Connection, ConnectOptions } from '../../connection.ts';
import { type DrainingConnections, drainingConnections } from '../draining.ts';
import type { ServerPlan } from '../plan-server.ts';
import type { PrivateFeed } from './private-feed.ts';

/** The server that private connections belong to, and how to open one more. */
export interface ConnectionOwner {
  readonly name: string;
  readonly plan: Pick<ServerPlan, 'reconnect'>;
  openConnection(user: ConnectionUser, onNotification: ConnectOptions['onNotification']): Promise<Connection>;
  /** Begins to follow lists, subscriptions and notifications of a private connection. */
  follow(user: ConnectionUser, connection: Connection): PrivateFeed | undefined;
}

interface PrivateConnection {
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
  usedAt: number;
}

export interface PrivateConnectionsOptions {
  readonly clock: Clock;
  readonly max?: number;
  readonly maxPerPrincipal?: number;
  readonly onOpened?: (server: string) => void;
}

const MAX_CONNECTIONS = 64;
const MAX_PER_PRINCIPAL = 8;
const IDLE_MS = 300_000;
// A user at a terminal reads and thinks between two commands, and expects the same page of a browser.
const COMMAND_IDLE_MS = 3_600_000;
const NEVER = new AbortController().signal;

/**
 * Connections that belong to one principal each, so that a request of a legacy server can reach only the user it is
 * about. A principal has one per capability set: the server receives exactly the capabilities of that client.
 */
export class PrivateConnections {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #maxPerPrincipal: number;
  readonly #onOpened: (server: string) => void;
  readonly #entries = new Set<PrivateConnection>();
  // Servers that once sent a request without saying during which call: each connection gets one call at a time.
  readonly #unrelated = new WeakSet<ConnectionOwner>();
  readonly #draining = new WeakMap<ConnectionOwner, DrainingConnections>();
  readonly #failures = new WeakMap<ConnectionOwner, { readonly thrown: unknown; readonly at: number }>();

  constructor(options: PrivateConnectionsOptions) {
    this.#clock = options.clock;
    this.#max = options.max ?? MAX_CONNECTIONS;
    this.#maxPerPrincipal = options.maxPerPrincipal ?? MAX_PER_PRINCIPAL;
    this.#onOpened = options.onOpened ?? (() => {});
  }

  /** Returns an open connection of this user that takes one more call. */
  ready(owner: ConnectionOwner, user: ConnectionUser): Connection | undefined {
    const entry = this.#find(owner, user);
    return entry?.connection && this.#take(entry, entry.connection);
  }

  /** Returns a connection of this user; opens one when there is none. An abort ends the wait, not the opening. */
  async open(owner: ConnectionOwner, user: ConnectionUser, signal: AbortSignal): Promise<Connection> {
    for (;;) {
      const found = this.#find(owner, user);
      const entry = found ?? this.#add(owner, user);
      const connection = await abortable(entry.opening, signal);
      const isTaken = found && this.#unrelated.has(owner) && isBusy(found);
      if (!isTaken) return this.#take(entry, connection);
    }
  }

  count(owner: ConnectionOwner): number {
    return this.#filter((entry) => entry.owner === owner).length;
  }

  /** Returns the lists and subscriptions on the private connection of a user, if it is open. */
  feedOf(owner: ConnectionOwner, user: ConnectionUser): PrivateFeed | undefined {
    const own = ownerOf(user);
    for (const entry of this.#entries) {
      if (entry.owner === owner && entry.feed && isSameUser(entry.user, own)) return entry.feed;
    }
    return undefined;
  }

  /** Returns the feed of a user; begins to follow an open connection of theirs when there is none. */
  ensureFeed(owner: ConnectionOwner, user: ConnectionUser): PrivateFeed | undefined {
    const known = this.feedOf(owner, user);
    if (known) return known;
    const own = ownerOf(user);
    const [open] = this.#filter((entry) => entry.owner === owner && !!entry.connection && isSameUser(entry.user, own));
    if (open) this.#follow(open);
    return open?.feed;
  }

  /** Drains connections without subscriptions that have been idle for 5 minutes; those of commands after an hour. */
  sweep(): void {
    const now = this.#clock();
    for (const entry of this.#entries) {
      if (isBusy(entry) || entry.feed?.isWanted()) entry.usedAt = now;
      else if (now - entry.usedAt >= idleMsOf(entry)) void this.#release(entry, 'drain');
    }
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

  #find(owner: ConnectionOwner, user: ConnectionUser): PrivateConnection | undefined {
    const own = ownerOf(user);
    for (const entry of this.#entries) {
      if (entry.owner !== owner || !isSameUser(entry.user, own)) continue;
      if (entry.connection?.sendsUnrelatedRequests()) this.#unrelated.add(owner);
      if (!this.#unrelated.has(owner) || !isBusy(entry)) return entry;
    }
    return undefined;
  }

  #take(entry: PrivateConnection, connection: Connection): Connection {
    entry.usedAt = this.#clock();
    entry.claims++;
    unclaimSoon(entry);
    return connection;
  }

  #add(owner: ConnectionOwner, openedFor: ConnectionUser): PrivateConnection {
    const failed = this.#failures.get(owner);
    if (failed && this.#clock() - failed.at < owner.plan.reconnect.delayMs) throw failed.thrown;
    this.#makeRoom(owner, openedFor.caller.id);
    const onNotification = (method: string, params: JsonObject) => entry.feed?.onNotification(method, params);
    const opening = owner.openConnection(openedFor, onNotification);
    const identity = { owner, openedFor, user: ownerOf(openedFor), opening };
    const unused = { feed: undefined, connection: undefined, openedAt: 0, claims: 1, usedAt: 0 };
    const entry: PrivateConnection = { ...identity, ...unused };
    this.#entries.add(entry);
    opening.then(
      (connection) => {
        entry.connection = connection;
        this.#onOpened(owner.name);
        this.#failures.delete(owner);
        entry.openedAt = entry.usedAt = this.#clock();
        unclaimSoon(entry);
        this.#follow(entry);
        connection.closed.then(() => this.#lost(entry));
      },
      (thrown: unknown) => {
        // A connection that was released while it opened failed for that reason.
        if (this.#entries.delete(entry)) this.#failures.set(owner, { thrown, at: this.#clock() });
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
    if (!this.#entries.delete(entry)) return;
    const lived = this.#clock() - entry.openedAt;
    const isWanted = entry.feed?.isWanted() && lived >= entry.owner.plan.reconnect.delayMs;
    this.#unfollow(entry);
    // A connection lost soon after it opened may be lost again: it is reopened with the next health check.
    if (isWanted) this.open(entry.owner, entry.openedFor, NEVER).catch(() => {});
  }

  /** Ends the feed of a connection; another connection of the same user takes its place. */
  #unfollow(entry: PrivateConnection): void {
    if (!entry.feed) return;
    entry.feed.end();
    entry.feed = undefined;
    this.ensureFeed(entry.owner, entry.openedFor);
  }

  #makeRoom({ name }: ConnectionOwner, principal: string): void {
    const own = this.#filter(({ user }) => user.principal === principal);
    if (own.length >= this.#maxPerPrincipal && !this.#releaseOne(own)) {
      throw full(name, `${principal} has ${this.#maxPerPrincipal} private connections, all in use`);
    }
    if (this.#entries.size >= this.#max && !this.#releaseOne([...this.#entries])) {
      throw full(name, `all ${this.#max} private connections are in use`);
    }
  }

  /** Drains the connection that has been idle longest; false when all have calls in flight or subscriptions. */
  #releaseOne(among: readonly PrivateConnection[]): boolean {
    const idle = among.filter((entry) => !isBusy(entry) && !entry.feed?.isWanted());
    const [oldest] = idle.sort((a, b) => a.usedAt - b.usedAt);
    if (oldest) void this.#release(oldest, 'drain');
    return oldest !== undefined;
  }

  async #release(entry: PrivateConnection, how: 'close' | 'drain'): Promise<void> {
    this.#entries.delete(entry);
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

const isBusy = ({ connection, claims }: PrivateConnection) => claims > 0 || (connection?.inFlight() ?? 1) > 0;

// A caller sends in the turn in which it gets a connection, and then counts as in flight.
const unclaimSoon = (entry: PrivateConnection) => void setImmediate(() => entry.claims--);

const full = (server: string, reason: string) =>
  new UpstreamError('UPSTREAM_UNREACHABLE', `No connection to ${server} can be opened for this call: ${reason}.`, {
    delivered: 'no',
    fix: 'Wait until a call in flight has ended, or end a resource subscription, then call again.',
  });

const idleMsOf = ({ openedFor: { caller } }: PrivateConnection): number =>
  caller.via === 'cli' ? COMMAND_IDLE_MS : IDLE_MS;
