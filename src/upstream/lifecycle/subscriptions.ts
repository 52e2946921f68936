import { abortable } from '../../core/async/abortable.ts';
import { type ConnectionUser, ownerOf, type PrivateUser, userKey } from '../../core/call/private-user.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Connection } from '../connection.ts';

/** What is subscribed on one server, however many want it and however often its line is opened anew. */
export interface Subscriptions {
  /** The first one subscribes, on the line there is or else on the next one. */
  add(uri: string, signal: AbortSignal): Promise<void>;
  /** The last one unsubscribes. Never fails: when the server cannot be told, the end of the line ends it too. */
  remove(uri: string, signal: AbortSignal): Promise<void>;
  /** Subscribes everything on a new line. Never rejects: what the server did not take comes back. */
  attach(line: SubscribableConnection): Promise<readonly Unsubscribed[]>;
  /** The line is gone. */
  detach(): void;
  /** Whether anybody wants anything. */
  areWanted(): boolean;
  /** True when nothing is subscribed and no connection is attached. */
  isEmpty(): boolean;
}

export interface Unsubscribed {
  readonly uri: string;
  readonly error: HeddleError;
}

/** As much of a connection as this needs. */
export type SubscribableConnection = Pick<Connection, 'agreement' | 'subscribe' | 'unsubscribe'>;

/** The subscriptions of one server: those on its shared connection, and those of each private user. */
export interface ServerSubscriptions {
  readonly shared: Subscriptions;
  of(user: ConnectionUser): Subscriptions;
  /** The private users with a subscription. */
  wanted(): readonly ConnectionUser[];
}

/** Opens the subscriptions of one server. `missed` receives a URI that may have changed while there was no connection. */
export function serverSubscriptions(missed: (uri: string, user?: PrivateUser) => void): ServerSubscriptions {
  const users = new Map<string, { readonly user: ConnectionUser; readonly own: Subscriptions }>();
  return {
    shared: subscriptions((uri) => missed(uri)),
    of(user) {
      const owner = ownerOf(user);
      const known = users.get(userKey(owner)) ?? { user, own: subscriptions((uri) => missed(uri, owner)) };
      users.set(userKey(owner), known);
      return known.own;
    },
    wanted() {
      for (const [key, { own }] of users) if (own.isEmpty()) users.delete(key);
      return [...users.values()].filter(({ own }) => own.areWanted()).map(({ user }) => user);
    },
  };
}

/** Counts subscriptions. `missed` is told what may have changed while there was no line. */
export const subscriptions = (missed: (uri: string) => void = () => {}): Subscriptions => new Counted(missed);

interface Entry {
  readonly uri: string;
  wanted: number;
  /** The line it is subscribed on, or was when there was one. */
  on: SubscribableConnection | undefined;
  /** Settles when what was begun for this URI is done: one thing at a time, or the last to answer would win. */
  turn: Promise<void>;
}

const LEGACY_AT_ONCE = 16;

class Counted implements Subscriptions {
  readonly #missed: (uri: string) => void;
  readonly #entries = new Map<string, Entry>();
  #line: SubscribableConnection | undefined;
  #leaving = new AbortController();

  constructor(missed: (uri: string) => void) {
    this.#missed = missed;
  }

  async add(uri: string, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(uri) ?? { uri, wanted: 0, on: undefined, turn: Promise.resolve() };
    this.#entries.set(uri, entry);
    entry.wanted++;
    try {
      await this.#inTurn(entry, signal);
    } catch (thrown) {
      void this.remove(uri, this.#leaving.signal); // Whoever gives up does not wait for the server to hear of it.
      throw thrown;
    }
  }

  async remove(uri: string, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(uri);
    if (!entry || entry.wanted === 0) return;
    entry.wanted--;
    if (entry.wanted === 0) await this.#inTurn(entry, signal).catch(() => {});
  }

  async attach(line: SubscribableConnection): Promise<readonly Unsubscribed[]> {
    this.detach();
    this.#leaving = new AbortController();
    this.#line = line;
    const { signal } = this.#leaving;
    const waiting = [...this.#entries.values()];
    // A modern server takes them all in one request; a legacy one is asked for each, and not for a thousand at once.
    const atOnce = line.agreement.era === 'modern' ? waiting.length : Math.min(LEGACY_AT_ONCE, waiting.length);
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
    this.#line = undefined;
  }

  areWanted = (): boolean => {
    for (const { wanted } of this.#entries.values()) if (wanted > 0) return true;
    return false;
  };

  isEmpty(): boolean {
    return this.#entries.size === 0 && !this.#line;
  }

  #inTurn(entry: Entry, signal: AbortSignal): Promise<void> {
    const mine = entry.turn.then(() => (entry.wanted > 0 ? this.#subscribe(entry, signal) : this.#drop(entry, signal)));
    entry.turn = mine.catch(() => {});
    return abortable(mine, signal);
  }

  async #subscribe(entry: Entry, signal: AbortSignal): Promise<void> {
    const line = this.#line;
    const { uri, on } = entry;
    if (!line || on === line) return;
    try {
      await line.subscribe(uri, signal);
    } catch (thrown) {
      // Who gave up does not know what the server did.
      if (signal.aborted) await line.unsubscribe(uri, this.#leaving.signal).catch(() => {});
      throw thrown;
    }
    entry.on = line;
    if (on) this.#missed(uri);
  }

  async #drop(entry: Entry, signal: AbortSignal): Promise<void> {
    const { uri, on } = entry;
    if (on && on === this.#line) await on.unsubscribe(uri, signal).catch(() => {});
    entry.on = undefined;
    // Somebody may have come while the server was told.
    if (entry.wanted === 0 && this.#entries.get(uri) === entry) this.#entries.delete(uri);
  }
}
