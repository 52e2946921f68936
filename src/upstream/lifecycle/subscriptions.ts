import { abortable } from '../../core/async/abortable.ts';
import { type ConnectionUser, ownerOf, type PrivateUser, userKey } from '../../core/call/private-user.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Connection } from '../connection.ts';

/** The resource subscriptions on one connection of a server. Counts subscribers and survives reconnects. */
export interface Subscriptions {
  /** Adds a subscriber. The first one subscribes on the current connection, or else on the next one. */
  add(uri: string, signal: AbortSignal): Promise<void>;
  /** Removes a subscriber; the last one unsubscribes. Never fails: the end of the connection ends it, too. */
  remove(uri: string, signal: AbortSignal): Promise<void>;
  /** Subscribes everything on a new connection. Never rejects: returns the subscriptions that failed. */
  attach(connection: SubscribableConnection): Promise<readonly Unsubscribed[]>;
  /** Forgets the connection, which is gone. */
  detach(): void;
  /** Tests whether any resource has a subscriber. */
  hasSubscribers(): boolean;
  /** True when nothing is subscribed and no connection is attached. */
  isEmpty(): boolean;
}

export interface Unsubscribed {
  readonly uri: string;
  readonly error: HeddleError;
}

/** The members of a connection that subscriptions need. */
export type SubscribableConnection = Pick<Connection, 'agreement' | 'subscribe' | 'unsubscribe'>;

/** The subscriptions of one server: those on its shared connection, and those of each private user. */
export interface ServerSubscriptions {
  readonly shared: Subscriptions;
  of(user: ConnectionUser): Subscriptions;
  /** Returns the private users with a subscription. */
  wanted(): readonly ConnectionUser[];
}

/** Opens the subscriptions of one server. `onMissed` receives a URI that may have changed while there was no connection. */
export function serverSubscriptions(onMissed: (uri: string, user?: PrivateUser) => void): ServerSubscriptions {
  const users = new Map<string, { readonly user: ConnectionUser; readonly own: Subscriptions }>();
  return {
    shared: subscriptions((uri) => onMissed(uri)),
    of(user) {
      const owner = ownerOf(user);
      const known = users.get(userKey(owner)) ?? { user, own: subscriptions((uri) => onMissed(uri, owner)) };
      users.set(userKey(owner), known);
      return known.own;
    },
    wanted() {
      for (const [key, { own }] of users) if (own.isEmpty()) users.delete(key);
      return [...users.values()].filter(({ own }) => own.hasSubscribers()).map(({ user }) => user);
    },
  };
}

/** Opens subscriptions. `onMissed` receives a URI that may have changed while there was no connection. */
export const subscriptions = (onMissed: (uri: string) => void = () => {}): Subscriptions =>
  new CountedSubscriptions(onMissed);

interface Entry {
  readonly uri: string;
  wanted: number;
  /** The last connection that it was subscribed on. */
  on: SubscribableConnection | undefined;
  /** Settles when the last request for this URI is done: one at a time, so that their order is kept. */
  turn: Promise<void>;
}

const LEGACY_AT_ONCE = 16;

class CountedSubscriptions implements Subscriptions {
  readonly #onMissed: (uri: string) => void;
  readonly #entries = new Map<string, Entry>();
  #connection: SubscribableConnection | undefined;
  #leaving = new AbortController();

  constructor(onMissed: (uri: string) => void) {
    this.#onMissed = onMissed;
  }

  async add(uri: string, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(uri) ?? { uri, wanted: 0, on: undefined, turn: Promise.resolve() };
    this.#entries.set(uri, entry);
    entry.wanted++;
    try {
      await this.#inTurn(entry, signal);
    } catch (thrown) {
      void this.remove(uri, this.#leaving.signal); // A subscriber that gives up does not wait for the unsubscribe.
      throw thrown;
    }
  }

  async remove(uri: string, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(uri);
    if (!entry || entry.wanted === 0) return;
    entry.wanted--;
    if (entry.wanted === 0) await this.#inTurn(entry, signal).catch(() => {});
  }

  async attach(connection: SubscribableConnection): Promise<readonly Unsubscribed[]> {
    this.detach();
    this.#leaving = new AbortController();
    this.#connection = connection;
    const { signal } = this.#leaving;
    const waiting = [...this.#entries.values()];
    // A modern server takes all in one request; a legacy server takes one each, sent 16 at a time.
    const atOnce = connection.agreement.era === 'modern' ? waiting.length : Math.min(LEGACY_AT_ONCE, waiting.length);
    const failed: Unsubscribed[] = [];
    const work = async () => {
      for (let entry = waiting.pop(); entry; entry = waiting.pop()) {
        const { uri } = entry;
        await this.#inTurn(entry, signal).catch((thrown) => failed.push({ uri, error: HeddleError.from(thrown) }));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    return failed;
  }

  detach(): void {
    this.#leaving.abort();
    this.#connection = undefined;
  }

  hasSubscribers = (): boolean => {
    for (const { wanted } of this.#entries.values()) if (wanted > 0) return true;
    return false;
  };

  isEmpty(): boolean {
    return this.#entries.size === 0 && !this.#connection;
  }

  #inTurn(entry: Entry, signal: AbortSignal): Promise<void> {
    const current = entry.turn.then(() =>
      entry.wanted > 0 ? this.#subscribe(entry, signal) : this.#drop(entry, signal),
    );
    entry.turn = current.catch(() => {});
    return abortable(current, signal);
  }

  async #subscribe(entry: Entry, signal: AbortSignal): Promise<void> {
    const connection = this.#connection;
    const { uri, on } = entry;
    if (!connection || on === connection) return;
    try {
      await connection.subscribe(uri, signal);
    } catch (thrown) {
      // After an abort it is unknown whether the server has subscribed.
      if (signal.aborted) await connection.unsubscribe(uri, this.#leaving.signal).catch(() => {});
      throw thrown;
    }
    entry.on = connection;
    if (on) this.#onMissed(uri);
  }

  async #drop(entry: Entry, signal: AbortSignal): Promise<void> {
    const { uri, on } = entry;
    if (on && on === this.#connection) await on.unsubscribe(uri, signal).catch(() => {});
    entry.on = undefined;
    // A new subscriber may have come during the unsubscribe.
    if (entry.wanted === 0 && this.#entries.get(uri) === entry) this.#entries.delete(uri);
  }
}
