import type { Json } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import { nearestFirst } from '../../core/text/did-you-mean.ts';
import { realTimer, type Timer } from '../../core/time.ts';
import { quote } from '../tool-failure.ts';
import type { ConnectionOptions, Database, OpenDatabase } from './database.ts';
import { DatabaseFailure } from './database-failure.ts';

interface UseOptions {
  readonly signal: AbortSignal;
  /** The longest wait for the database to open. */
  readonly timeoutMs: number;
}

/** The configured databases. Each is opened by its first call and shared by all calls. */
export interface Connections {
  /** Returns the connections of the active configuration. */
  list(): readonly ConnectionOptions[];
  /** Runs work on an open database. One that cannot be opened is tried again by the next call. */
  use<T>(name: string, options: UseOptions, work: (database: Database) => Promise<T>): Promise<T>;
  /** Closes the databases that the active configuration has changed or removed, each after its calls. */
  update(): void;
  close(): Promise<void>;
}

interface ConnectionsOptions {
  /** Returns the connections of the active configuration. */
  readonly list: () => readonly ConnectionOptions[];
  readonly open: OpenDatabase;
  readonly timer?: Timer;
}

interface Opening {
  readonly database: Promise<Database>;
  readonly abort: AbortController;
  isOpen: boolean;
}

/** A connection of one version of the configuration. */
interface Slot {
  readonly options: ConnectionOptions;
  readonly revision: string;
  opening: Opening | undefined;
  uses: number;
  isRetired: boolean;
}

const revisionOf = (options: ConnectionOptions): string => canonicalJson(options as unknown as Json);

/** Returns the databases of a configuration. Opens nothing. */
export function openConnections({ list, open, timer = realTimer }: ConnectionsOptions): Connections {
  const slots = new Map<string, Slot>();
  const closing = new Set<Promise<void>>();
  let isClosed = false;

  function slotOf(name: string): Slot {
    const options = list().find((one) => one.name === name);
    if (!options) throw unknownConnection(name, list());
    if (isClosed) throw new DatabaseFailure('CANCELLED', 'Heddle is closing. Nothing was sent.');
    const slot = slots.get(name);
    const revision = revisionOf(options);
    if (slot?.revision === revision) return slot;
    if (slot) retire(slot);
    const next: Slot = { options, revision, opening: undefined, uses: 0, isRetired: false };
    slots.set(name, next);
    return next;
  }

  /** Ends an opening without callers, and a retired database after its last call. */
  function release(slot: Slot): void {
    const { opening } = slot;
    if (slot.uses > 0 || !opening || (opening.isOpen && !slot.isRetired)) return;
    slot.opening = undefined;
    opening.abort.abort();
    track(opening.database.then((database) => database.close()));
  }

  function retire(slot: Slot): void {
    slots.delete(slot.options.name);
    slot.isRetired = true;
    release(slot);
  }

  function track(closed: Promise<void>): void {
    const settled = closed.catch(() => {}).finally(() => closing.delete(settled));
    closing.add(settled);
  }

  return {
    list,
    async use(name, { signal, timeoutMs }, work) {
      const slot = slotOf(name);
      slot.uses++;
      try {
        const { database } = openingOf(slot, open);
        return await work(await waitFor(database, { name, signal, timeoutMs, timer }));
      } finally {
        slot.uses--;
        release(slot);
      }
    },
    update() {
      const revisions = new Map(list().map((options) => [options.name, revisionOf(options)]));
      for (const slot of [...slots.values()]) {
        if (revisions.get(slot.options.name) !== slot.revision) retire(slot);
      }
    },
    async close() {
      isClosed = true;
      for (const slot of [...slots.values()]) {
        slot.uses = 0;
        retire(slot);
      }
      await Promise.all(closing);
    },
  };
}

/** Opens the database of a slot, once for all calls. After a failure the next call opens it again. */
function openingOf(slot: Slot, open: OpenDatabase): Opening {
  if (slot.opening) return slot.opening;
  const abort = new AbortController();
  const opening: Opening = { database: open(slot.options, abort.signal), abort, isOpen: false };
  slot.opening = opening;
  opening.database.then(
    () => {
      opening.isOpen = true;
    },
    () => {
      if (slot.opening === opening) slot.opening = undefined;
    },
  );
  return opening;
}

interface Waiting extends UseOptions {
  readonly name: string;
  readonly timer: Timer;
}

/** Waits for a database to open. The opening goes on, since other calls may wait for it. */
function waitFor(database: Promise<Database>, { name, signal, timeoutMs, timer }: Waiting): Promise<Database> {
  const { promise, resolve, reject } = Promise.withResolvers<Database>();
  const cancel = () => reject(new DatabaseFailure('CANCELLED', 'The call was cancelled. Nothing was sent.'));
  const stop = timer(timeoutMs, () => {
    const message = `The connection ${name} was not open after ${timeoutMs} ms. Nothing was sent. Call again.`;
    reject(new DatabaseFailure('TIMED_OUT', message));
  });
  signal.addEventListener('abort', cancel, { once: true });
  if (signal.aborted) cancel();
  database.then(resolve, reject);
  return promise.finally(() => {
    stop();
    signal.removeEventListener('abort', cancel);
  });
}

/** Names the existing connections, those like the unknown one first. */
export function unknownConnection(name: string, known: readonly ConnectionOptions[]): DatabaseFailure {
  const names = nearestFirst(
    name,
    known.map((one) => one.name),
  );
  return new DatabaseFailure(
    'NAME_UNKNOWN',
    `There is no connection ${quote(name)} here. Choose one of: ${names.join(', ')}.`,
  );
}
