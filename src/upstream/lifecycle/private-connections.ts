import { abortable } from '../../core/async/abortable.ts';
import { capabilitiesKey } from '../../core/call/client-capabilities.ts';
import {
  type ConnectionUser,
  capabilitiesOfUser,
  isSameUser,
  ownerOf,
  type PrivateUser,
} from '../../core/call/private-user.ts';
import type { ClientCapabilities, JsonObject } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import type { Era } from '../../wire/mcp.ts';
import type { Connection, ConnectOptions } from '../connection.ts';
import { type DrainingConnections, drainingConnections } from './draining.ts';
import type { ServerPlan } from './plan-server.ts';
import type { PrivateFeed } from './private-feed.ts';

/** A server as this sees it: its identity, and how one more line to it is opened. */
export interface ConnectionOwner {
  readonly name: string;
  readonly plan: Pick<ServerPlan, 'reconnect'>;
  openConnection(user: ConnectionUser, hear: ConnectOptions['onNotification']): Promise<Connection>;
  /** Begins to follow lists, subscriptions and notifications of a private connection. */
  follow(user: ConnectionUser, connection: Connection): PrivateFeed | undefined;
}

/** The one user of a process that serves nobody else. */
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
  only?.era === 'legacy' && capabilitiesKey(only.capabilities) !== 0;

/** The facts that decide which users share a connection. */
export interface SharingFacts {
  readonly era: Era;
  readonly only: SoleUser | undefined;
  /** False once the server is known to speak the modern era alone. */
  readonly maySpeakLegacy: boolean;
}

/** Tests whether a user belongs on the shared connection: there all users have the same capabilities. */
export function canUseSharedConnection({ era, only, maySpeakLegacy }: SharingFacts, user: ConnectionUser): boolean {
  // A modern request carries the capabilities of its client. Only a legacy client may need requests during its call.
  if (era === 'modern') {
    const isLegacy = user.caller.era === 'legacy' && capabilitiesKey(capabilitiesOfUser(user)) !== 0;
    return !isLegacy || !maySpeakLegacy || user.caller.id === only?.principal;
  }
  if (!only || capabilitiesKey(only.capabilities) === 0) return capabilitiesKey(capabilitiesOfUser(user)) === 0;
  return user.caller.id === only.principal;
}

/** Tests whether a shared connection takes one more call of the only user there is. */
export const takesAnother = (main: Connection, only: SoleUser | undefined): boolean =>
  !only || only.hasOneConnection === true || !main.sendsUnrelatedRequests() || main.inFlight() === 0;

interface PrivateLine {
  readonly owner: ConnectionOwner;
  readonly openedFor: ConnectionUser;
  readonly user: PrivateUser;
  /** On the first connection of its user: everything but calls comes from that one. */
  feed: PrivateFeed | undefined;
  readonly opening: Promise<Connection>;
  connection: Connection | undefined;
  openedAt: number;
  /** Calls it was opened for or handed to that are about to be sent. */
  claims: number;
  usedAt: number;
}

export interface PrivateConnectionsOptions {
  readonly clock: Clock;
  readonly max?: number;
  readonly maxPerPrincipal?: number;
  readonly onOpened?: (server: string) => void;
}

const MAX_LINES = 64;
const MAX_PER_PRINCIPAL = 8;
const IDLE_MS = 300_000;
const NEVER = new AbortController().signal;

/**
 * Lines that belong to one principal, so that what a server of the older era asks can only reach the user it is about.
 * One for each set of abilities: a server is told exactly what its user can be asked.
 */
export class PrivateConnections {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #maxPerPrincipal: number;
  readonly #onOpened: (server: string) => void;
  readonly #lines = new Set<PrivateLine>();
  // Whoever once asked without saying during which call will do so on its next line, too.
  readonly #blind = new WeakSet<ConnectionOwner>();
  readonly #finishing = new WeakMap<ConnectionOwner, DrainingConnections>();
  readonly #failures = new WeakMap<ConnectionOwner, { readonly thrown: unknown; readonly at: number }>();

  constructor(options: PrivateConnectionsOptions) {
    this.#clock = options.clock;
    this.#max = options.max ?? MAX_LINES;
    this.#maxPerPrincipal = options.maxPerPrincipal ?? MAX_PER_PRINCIPAL;
    this.#onOpened = options.onOpened ?? (() => {});
  }

  /** The open line that fits, if there is one. */
  ready(owner: ConnectionOwner, user: ConnectionUser): Connection | undefined {
    const line = this.#find(owner, user);
    return line?.connection && this.#take(line, line.connection);
  }

  /** The line that fits, opened when there is none. An abort ends the wait, not the opening. */
  async open(owner: ConnectionOwner, user: ConnectionUser, signal: AbortSignal): Promise<Connection> {
    for (;;) {
      const found = this.#find(owner, user);
      const line = found ?? this.#add(owner, user);
      const connection = await abortable(line.opening, signal);
      const isTaken = found && this.#blind.has(owner) && isBusy(found);
      if (!isTaken) return this.#take(line, connection);
    }
  }

  count(owner: ConnectionOwner): number {
    return this.#of((line) => line.owner === owner).length;
  }

  /** Returns the lists and subscriptions on the private connection of a user, if it is open. */
  feedOf(owner: ConnectionOwner, user: ConnectionUser): PrivateFeed | undefined {
    const own = ownerOf(user);
    for (const line of this.#lines) {
      if (line.owner === owner && line.feed && isSameUser(line.user, own)) return line.feed;
    }
    return undefined;
  }

  /** Returns the feed of a user; begins to follow an open connection of theirs when there is none. */
  ensureFeed(owner: ConnectionOwner, user: ConnectionUser): PrivateFeed | undefined {
    const known = this.feedOf(owner, user);
    if (known) return known;
    const own = ownerOf(user);
    const [open] = this.#of((line) => line.owner === owner && !!line.connection && isSameUser(line.user, own));
    if (open) this.#follow(open);
    return open?.feed;
  }

  /** Lets go of the lines nobody has used for a while. */
  sweep(): void {
    const now = this.#clock();
    for (const line of this.#lines) {
      if (isBusy(line) || line.feed?.isWanted()) line.usedAt = now;
      else if (now - line.usedAt >= IDLE_MS) void this.#release(line, 'finish');
    }
  }

  /** Ends all lines of a server: at once, or after what is under way on them. */
  async end(owner: ConnectionOwner, how: 'close' | 'finish'): Promise<void> {
    const ended = this.#of((line) => line.owner === owner).map((line) => this.#release(line, how));
    if (how === 'close') ended.push(this.#finishingOf(owner).close());
    await Promise.all(ended);
  }

  #of(isWanted: (line: PrivateLine) => boolean): PrivateLine[] {
    return [...this.#lines].filter(isWanted);
  }

  #find(owner: ConnectionOwner, user: ConnectionUser): PrivateLine | undefined {
    const own = ownerOf(user);
    for (const line of this.#lines) {
      if (line.owner !== owner || !isSameUser(line.user, own)) continue;
      if (line.connection?.sendsUnrelatedRequests()) this.#blind.add(owner);
      if (!this.#blind.has(owner) || !isBusy(line)) return line;
    }
    return undefined;
  }

  #take(line: PrivateLine, connection: Connection): Connection {
    line.usedAt = this.#clock();
    line.claims++;
    unclaimSoon(line);
    return connection;
  }

  #add(owner: ConnectionOwner, openedFor: ConnectionUser): PrivateLine {
    const failed = this.#failures.get(owner);
    if (failed && this.#clock() - failed.at < owner.plan.reconnect.delayMs) throw failed.thrown;
    this.#makeRoom(owner, openedFor.caller.id);
    const hear = (method: string, params: JsonObject) => line.feed?.hear(method, params);
    const opening = owner.openConnection(openedFor, hear);
    const which = { owner, openedFor, user: ownerOf(openedFor), opening };
    const line: PrivateLine = { ...which, feed: undefined, connection: undefined, openedAt: 0, claims: 1, usedAt: 0 };
    this.#lines.add(line);
    opening.then(
      (connection) => {
        line.connection = connection;
        this.#onOpened(owner.name);
        this.#failures.delete(owner);
        line.openedAt = line.usedAt = this.#clock();
        unclaimSoon(line);
        this.#follow(line);
        connection.closed.then(() => this.#lost(line));
      },
      (thrown: unknown) => {
        // A line that was let go of meanwhile failed for that reason.
        if (this.#lines.delete(line)) this.#failures.set(owner, { thrown, at: this.#clock() });
      },
    );
    return line;
  }

  /** Follows a connection unless another one of the same user is followed, or it was let go of meanwhile. */
  #follow(line: PrivateLine): void {
    const { owner, openedFor, connection } = line;
    if (!connection || !this.#lines.has(line) || this.feedOf(owner, openedFor)) return;
    line.feed = owner.follow(openedFor, connection);
  }

  #lost(line: PrivateLine): void {
    if (!this.#lines.delete(line)) return;
    const lived = this.#clock() - line.openedAt;
    const isWanted = line.feed?.isWanted() && lived >= line.owner.plan.reconnect.delayMs;
    this.#unfollow(line);
    // A connection lost soon after it opened may be lost again: it is reopened with the next health check.
    if (isWanted) this.open(line.owner, line.openedFor, NEVER).catch(() => {});
  }

  /** Ends what came from a connection; another one of the same user takes its place. */
  #unfollow(line: PrivateLine): void {
    if (!line.feed) return;
    line.feed.end();
    line.feed = undefined;
    this.ensureFeed(line.owner, line.openedFor);
  }

  #makeRoom({ name }: ConnectionOwner, principal: string): void {
    const own = this.#of(({ user }) => user.principal === principal);
    if (own.length >= this.#maxPerPrincipal && !this.#releaseOne(own)) {
      throw full(name, `${principal} has ${this.#maxPerPrincipal} lines of its own, all in use`);
    }
    if (this.#lines.size >= this.#max && !this.#releaseOne([...this.#lines])) {
      throw full(name, `all ${this.#max} private lines are in use`);
    }
  }

  /** Gives up the line that has been idle longest; false when all have calls in flight or subscriptions. */
  #releaseOne(among: readonly PrivateLine[]): boolean {
    const idle = among.filter((line) => !isBusy(line) && !line.feed?.isWanted());
    const [oldest] = idle.sort((a, b) => a.usedAt - b.usedAt);
    if (oldest) void this.#release(oldest, 'finish');
    return oldest !== undefined;
  }

  async #release(line: PrivateLine, how: 'close' | 'finish'): Promise<void> {
    this.#lines.delete(line);
    this.#unfollow(line);
    const connection = await line.opening.catch(() => undefined);
    await (how === 'close' ? connection?.close() : this.#finishingOf(line.owner).add(connection));
  }

  #finishingOf(owner: ConnectionOwner): DrainingConnections {
    const known = this.#finishing.get(owner) ?? drainingConnections();
    this.#finishing.set(owner, known);
    return known;
  }
}

const isBusy = ({ connection, claims }: PrivateLine) => claims > 0 || (connection?.inFlight() ?? 1) > 0;

// Whoever was given a line sends at once, and is then seen as under way.
const unclaimSoon = (line: PrivateLine) => void setImmediate(() => line.claims--);

const full = (server: string, why: string) =>
  new UpstreamError('UPSTREAM_UNREACHABLE', `No line to ${server} can be opened for this call: ${why}.`, {
    delivered: 'no',
    fix: 'Wait until a call in flight has ended, or end a resource subscription, then call again.',
  });
