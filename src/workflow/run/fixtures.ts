import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Json, JsonObject } from '../../core/call.ts';
import type { SentCall, ToolResponse, World } from '../steps/fixtures.ts';
import {
  type ApprovalEnd,
  type Durable,
  RunInterrupted,
  type Sleep,
  type StepApprovalRequest,
  type StepCall,
  type StepEnd,
  type StepLog,
  type StoredValue,
} from './durable.ts';

/** An entry of the journal. */
export interface MemoryEntry {
  readonly kind: 'started' | 'ended' | 'timer' | 'elapsed' | 'value' | 'requested' | 'decided' | 'cancel';
  readonly path: string;
  readonly value: Json;
}

export interface MemoryOptions {
  readonly journal?: readonly MemoryEntry[];
  /** Interrupts the run once its journal has this many entries. */
  readonly crashAfter?: number;
  readonly startMs?: number;
}

interface Opened<T> {
  readonly signal: AbortSignal;
  readonly begin: (end: (make: () => T) => void) => void;
  readonly onAbort: () => T;
}

interface TimedEvent {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** The operations of a run over a journal in memory and a virtual clock. */
export class MemoryDurable implements Durable {
  readonly journal: MemoryEntry[];
  readonly calls: SentCall[] = [];
  readonly logs: (StepLog & { readonly path: string })[] = [];
  readonly open = new Map<string, (reason: RunInterrupted) => void>();
  /** The number of turns that the run has yielded. */
  turns = 0;
  time: number;
  readonly #world: World;
  readonly #crashAfter: number | undefined;
  readonly #known = new Map<string, Json>();
  readonly #values = new Map<string, Json>();
  readonly #waits: { readonly path: string; readonly from: number; to: number }[] = [];
  readonly #cancel = new AbortController();
  /** The checks of timers that a wait for a person pauses. */
  #paused: (() => void)[] = [];
  #events: TimedEvent[] = [];
  #order = 0;
  #isDead = false;

  constructor(world: World, { journal = [], crashAfter, startMs = 0 }: MemoryOptions) {
    this.time = startMs;
    this.#world = world;
    this.#crashAfter = crashAfter;
    this.journal = [...journal];
    for (const { kind, path, value } of journal) this.#known.set(`${kind} ${path}`, value);
    if (this.#find('cancel', '') !== undefined) this.#cancel.abort(world.cancelReason);
    else if (world.cancelAt !== undefined) this.#at(world.cancelAt, () => this.#requestCancel());
  }

  get cancelled(): AbortSignal {
    return this.#cancel.signal;
  }

  call(path: string, { tool, input, attempt, timeoutMs, signal }: StepCall): Promise<StepEnd> {
    const key = `${path}#${attempt}`;
    const ended = this.#find('ended', key) as unknown as StepEnd | undefined;
    if (ended) return this.#ready(ended);
    const started = this.#find('started', key) as { readonly at: number } | undefined;
    const isStarted = started !== undefined;
    const startedAt = started?.at ?? this.time;
    if (signal.aborted) return this.#ready(failedEnd('CANCELLED', { mayHaveActed: isStarted }, this.time));
    const response = this.#world.tool({ tool, input, path, attempt });
    const { afterMs = 1, error } = response;
    const finish = (made: StepEnd): StepEnd => {
      this.#append('ended', key, made as unknown as Json);
      return made;
    };
    const mayHaveActed = error?.mayHaveActed ?? true;
    return this.#operation(key, {
      signal,
      onAbort: () => finish(failedEnd('CANCELLED', { mayHaveActed }, this.time)),
      begin: (end) => {
        if (!isStarted) this.#append('started', key, { tool, input, at: startedAt });
        this.calls.push({ path, attempt, tool, input });
        if (timeoutMs !== undefined && timeoutMs < afterMs) {
          const late = () => finish(failedEnd('TIMEOUT', { mayHaveActed }, this.time));
          this.#at(startedAt + timeoutMs, () => end(late));
        } else this.#at(startedAt + afterMs, () => end(() => finish(endOf(response, this.time))));
      },
    });
  }

  approve(path: string, request: StepApprovalRequest, signal: AbortSignal): Promise<ApprovalEnd> {
    const decided = this.#find('decided', path) as unknown as Exclude<ApprovalEnd, { kind: 'cancelled' }> | undefined;
    const requestedAt = this.#find('requested', path) as number | undefined;
    const wait = { path, from: requestedAt ?? this.time, to: decided?.at ?? Number.POSITIVE_INFINITY };
    if (decided) {
      this.#waits.push(wait);
      return this.#ready(decided);
    }
    if (signal.aborted) return this.#ready<ApprovalEnd>({ kind: 'cancelled' });
    return this.#operation<ApprovalEnd>(path, {
      signal,
      onAbort: () => ({ kind: 'cancelled' }),
      begin: (end) => {
        if (requestedAt === undefined) this.#append('requested', path, wait.from);
        this.#waits.push(wait);
        const decision = this.#world.decide?.(path, request);
        if (!decision) return;
        const { afterMs, ...rest } = decision;
        this.#at(wait.from + afterMs, () =>
          end(() => {
            wait.to = this.time;
            for (const check of this.#paused.splice(0)) this.#at(this.time, check);
            const made = { by: ['approver'], ...rest, at: this.time };
            this.#append('decided', path, made);
            return made;
          }),
        );
      },
    });
  }

  sleep(path: string, { until, forMs = 0, pausedBelow, signal }: Sleep): Promise<'elapsed' | 'aborted'> {
    if (this.#find('elapsed', path) !== undefined) return this.#ready<'elapsed'>('elapsed');
    if (signal.aborted) return this.#ready<'aborted'>('aborted');
    const recorded = this.#find('timer', path) as { from: number; due: number } | undefined;
    const timer = recorded ?? { from: this.time, due: until ?? this.time + forMs };
    return this.#operation<'elapsed' | 'aborted'>(path, {
      signal,
      onAbort: () => 'aborted',
      begin: (end) => {
        if (!recorded) this.#append('timer', path, timer);
        const check = () => {
          const due = timer.due + this.#pausedMs(timer.from, pausedBelow);
          if (due === Number.POSITIVE_INFINITY) this.#paused.push(check);
          else if (this.time < due) this.#at(due, check);
          else end(() => this.#elapse(path));
        };
        this.#at(timer.due, check);
      },
    });
  }

  async record<T extends Json>(path: string, make: () => T): Promise<T> {
    if (this.#isDead) throw new RunInterrupted();
    if (this.#find('value', path) === undefined) this.#append('value', path, make());
    return this.#find('value', path) as T;
  }

  recorded(path: string): Json | undefined {
    return this.#find('value', path) ?? this.#find('elapsed', path);
  }

  now(path: string): Promise<number> {
    return this.record(path, () => this.time);
  }

  random(path: string): Promise<number> {
    return this.record(path, () => Number.parseInt(sha256(path).slice(0, 8), 16) / 2 ** 32);
  }

  async store(value: Json, overBytes = 64 * 1024): Promise<StoredValue> {
    const text = JSON.stringify(value);
    if (text.length <= overBytes) return { inline: value };
    this.#values.set(sha256(text), value);
    return { sha256: sha256(text), bytes: text.length };
  }

  async load(value: StoredValue): Promise<Json> {
    return 'inline' in value ? value.inline : (this.#values.get(value.sha256) as Json);
  }

  log(path: string, line: StepLog): void {
    this.logs.push({ path, ...line });
  }

  hold(): () => void {
    return () => {};
  }

  async yieldTurn(): Promise<void> {
    this.turns++;
  }

  /** Runs events in the order of their times until `isOver`, or until no event is left. */
  async drive(isOver: () => boolean): Promise<void> {
    for (;;) {
      await setImmediate();
      const next = this.#events.toSorted(byTime)[0];
      if (isOver() || !next) return;
      this.#events = this.#events.filter((event) => event !== next);
      this.time = Math.max(this.time, next.at);
      next.run();
    }
  }

  /** Rejects every open operation, as when the lease is lost or the run is suspended. */
  interrupt(): void {
    this.#isDead = true;
    for (const reject of this.open.values()) reject(new RunInterrupted());
  }

  #requestCancel(): void {
    try {
      this.#append('cancel', '', true);
      this.#cancel.abort(this.#world.cancelReason);
    } catch {} // The injected crash.
  }

  #elapse(path: string): 'elapsed' {
    this.#append('elapsed', path, true);
    return 'elapsed';
  }

  /** Returns the time that operations below a path have waited for a person; infinite while one does. */
  #pausedMs(from: number, below: string | undefined): number {
    if (below === undefined) return 0;
    const waits = this.#waits.filter(({ path }) => below === '' || path === below || path.startsWith(`${below}/`));
    return waits.reduce((sum, wait) => sum + Math.max(0, wait.to - Math.max(wait.from, from)), 0);
  }

  #find(kind: MemoryEntry['kind'], path: string): Json | undefined {
    return this.#known.get(`${kind} ${path}`);
  }

  #ready<T>(end: T): Promise<T> {
    return this.#isDead ? Promise.reject(new RunInterrupted()) : Promise.resolve(end);
  }

  #at(time: number, run: () => void): void {
    this.#events.push({ at: Math.max(time, this.time), order: this.#order++, run });
  }

  #append(kind: MemoryEntry['kind'], path: string, value: Json): void {
    if (this.#isDead) throw new RunInterrupted();
    const copy: Json = JSON.parse(JSON.stringify(value));
    this.journal.push({ kind, path, value: copy });
    this.#known.set(`${kind} ${path}`, copy);
    if (this.journal.length !== this.#crashAfter) return;
    this.interrupt();
    throw new RunInterrupted();
  }

  #operation<T>(path: string, { signal, begin, onAbort }: Opened<T>): Promise<T> {
    if (this.#isDead) return Promise.reject(new RunInterrupted());
    if (this.open.has(path)) throw new Error(`Two operations have the path ${path}.`);
    return new Promise<T>((resolve, reject) => {
      const abort = () => end(onAbort);
      const end = (make: () => T) => {
        if (!this.open.has(path) || this.#isDead) return;
        signal.removeEventListener('abort', abort);
        this.open.delete(path);
        try {
          resolve(make());
        } catch (thrown) {
          reject(thrown);
        }
      };
      this.open.set(path, reject);
      signal.addEventListener('abort', abort);
      begin(end);
    });
  }
}

function endOf({ raw, result = {}, error, afterMs: latencyMs = 1 }: ToolResponse, endedAt: number): StepEnd {
  if (error) return failedEnd(error.code, error, endedAt);
  const made = { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: result };
  const value: JsonObject = raw ?? made;
  return { ok: true, value: { inline: value }, isError: value.isError === true, server: 'test', latencyMs, endedAt };
}

function failedEnd(code: string, error: Omit<NonNullable<ToolResponse['error']>, 'code'>, endedAt: number): StepEnd {
  const { mayHaveActed = true, isRetryable = false, retryAfterMs } = error;
  const message = `The call failed with ${code}.`;
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  return { ok: false, error: { code, message }, mayHaveActed, isRetryable, ...wait, endedAt };
}

const byTime = (a: TimedEvent, b: TimedEvent): number => a.at - b.at || a.order - b.order;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
