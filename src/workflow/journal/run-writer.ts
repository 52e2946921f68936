import { hash } from 'node:crypto';
import type { Json } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { parseExact } from '../../core/exact-numbers.ts';
import type { Clock } from '../../core/time.ts';
import type { JournalEntry, JournalValue, RunChange, RunFence, RunJournal } from '../../store/run-journal.ts';
import type { StoredValue } from '../run/durable.ts';
import { type EntryDetails, type EntryKind, toDetail } from './entries.ts';

/** The most entries of a run, log lines not counted. A run that is stopped there has some more for compensations. */
const MAX_EVENTS = 50_000;
const SPARE_EVENTS = 5_000;
const MAX_INLINE_BYTES = 65_536;

/** Writes the entries of one run. Those of one turn are one write. */
export interface RunWriter {
  /** Queues an entry. It is written with the next flush, at the end of this turn at the latest. */
  add<K extends EntryKind>(kind: K, path: string, detail: EntryDetails[K]): void;
  /** Hands the queued entries to the journal, which commits them no later than the next durable record. */
  flush(): void;
  /** Writes the queued entries and a change of the run. Resolves when they are committed. */
  commit(change?: RunChange): Promise<void>;
  /** Returns a value as an entry holds it. One of more than `overBytes` is stored once. */
  store(value: Json, overBytes?: number): StoredValue;
  load(value: StoredValue): Promise<Json>;
  /** Drops what is queued, and ignores everything that follows. */
  close(): void;
}

export interface RunWriterOptions {
  readonly journal: RunJournal;
  readonly fence: RunFence;
  readonly lastSequence: number;
  /** The number of entries so far, log lines not counted. */
  readonly events: number;
  readonly clock: Clock;
  /** The journal refuses the writes of this process. */
  readonly onRefused: (cause: unknown) => void;
  /** The run has too many entries. It may make some more to end. */
  readonly onLimit: () => void;
  /** The run has used these as well. Only its end is written. */
  readonly onFull: () => void;
}

/** Creates the writer of a claimed run. */
export function runWriter(options: RunWriterOptions): RunWriter {
  const { journal, fence, clock, onRefused, onLimit, onFull } = options;
  let sequence = options.lastSequence;
  let { events } = options;
  let entries: JournalEntry[] = [];
  let values: JournalValue[] = [];
  /** The values that are not committed yet. */
  const pending = new Map<string, string>();
  let isScheduled = false;
  let isClosed = false;

  async function write(urgency: 'now' | 'soon', change?: RunChange): Promise<void> {
    if (isClosed || (entries.length === 0 && values.length === 0 && !change)) return;
    const written = { fence, entries, values, ...(change && { change }) };
    entries = [];
    values = [];
    await journal.append(written, urgency);
    for (const { sha256 } of written.values) pending.delete(sha256);
  }

  const flush = () => void write('soon').catch(onRefused);

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      flush();
    });
  }

  return {
    add(kind, path, detail) {
      if (isClosed) return;
      if (kind !== 'log' && kind !== 'ended' && ++events >= MAX_EVENTS) onLimit();
      if (kind !== 'ended' && events > MAX_EVENTS + SPARE_EVENTS) return onFull();
      entries.push({ sequence: ++sequence, at: clock(), kind, path, detail: toDetail(detail) });
      schedule();
    },
    flush,
    commit: (change) => write('now', change),
    store(value, overBytes = MAX_INLINE_BYTES) {
      const json = JSON.stringify(value);
      // Each character has one byte at least.
      const bytes = json.length > overBytes ? json.length : Buffer.byteLength(json);
      if (bytes <= overBytes) return { inline: value };
      const sha256 = hash('sha256', json);
      if (!isClosed && !pending.has(sha256)) {
        values.push({ sha256, json });
        pending.set(sha256, json);
        schedule();
      }
      return { sha256, bytes };
    },
    async load(value) {
      if ('inline' in value) return value.inline;
      const json = pending.get(value.sha256);
      const found = json === undefined ? await journal.value(value.sha256) : parseExact(json);
      if (found === undefined) throw missingValue(value.sha256);
      return found;
    },
    close() {
      isClosed = true;
      entries = [];
      values = [];
    },
  };
}

const missingValue = (sha256: string) =>
  new HeddleError('INTERNAL', `The journal has no value ${sha256}, which an entry refers to.`);
