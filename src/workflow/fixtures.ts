import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Json, JsonObject } from '../core/call.ts';
import type { RunError } from '../core/records/run.ts';
import type { Workflow } from './definition/canonical.ts';
import {
  type ApprovalAsk,
  type ApprovalEnd,
  type Durable,
  type LogLine,
  RunInterrupted,
  type RunStop,
  type Sleep,
  type StepCall,
  type StepEnd,
  type StoredValue,
} from './run/durable.ts';
import { interpret, RunFailure } from './run/interpret.ts';
import type { SandboxRun } from './steps/sandbox-run.ts';

/** The response of a tool in a test. Without `error` it is a result. */
export interface ToolResponse {
  readonly result?: JsonObject;
  /** The server's whole result object, instead of `result`. */
  readonly raw?: JsonObject;
  readonly error?: Omit<Extract<StepEnd, { readonly ok: false }>, 'ok' | 'endedAt' | 'error'> & { readonly code: string };
  readonly afterMs?: number;
}

/** A person's decision in a test. */
export interface Decision {
  readonly afterMs: number;
  readonly end: ApprovalEnd extends infer E ? (E extends { readonly at: number } ? Omit<E, 'at'> : never) : never;
}

/** The surroundings of a simulated run. */
export interface World {
  readonly tool: (call: { readonly tool: string; readonly input: JsonObject; readonly path: string; readonly attempt: number }) => ToolResponse;
  readonly decide?: (path: string, ask: ApprovalAsk) => Decision | undefined;
  readonly runCode?: SandboxRun;
  /** Cancels the run at this time. */
  readonly cancelAt?: number;
  readonly cancelReason?: RunStop;
}

export interface MemoryEntry {
  readonly kind: 'started' | 'ended' | 'timer' | 'elapsed' | 'value' | 'asked' | 'decided' | 'cancel';
  readonly path: string;
  readonly value: Json;
}

/** The end of a simulated run. `suspended`: all its operations wait. `crashed`: it met the injected crash. */
export type SimulatedEnd =
  | { readonly kind: 'succeeded'; readonly output: Json; readonly stepsExecuted: number }
  | { readonly kind: 'failed'; readonly status: string; readonly error: RunError; readonly stepsExecuted: number }
  | { readonly kind: 'suspended' | 'crashed' };

export interface Simulation {
  readonly end: SimulatedEnd;
  readonly journal: readonly MemoryEntry[];
  /** The calls that were sent, in order: path, attempt, tool and input. */
  readonly calls: readonly { readonly path: string; readonly attempt: number; readonly tool: string; readonly input: Json }[];
  readonly logs: readonly (LogLine & { readonly path: string })[];
  readonly timeMs: number;
  /** Operations that were open at the end. */
  readonly open: readonly string[];
}

interface SimulateOptions {
  readonly journal?: readonly MemoryEntry[];
  /** Interrupts the run once its journal has this many entries. */
  readonly crashAfter?: number;
  readonly startMs?: number;
}

/** Interprets a workflow over a journal in memory and a virtual clock. */
export async function simulate(
  workflow: Workflow,
  input: JsonObject,
  world: World,
  options: SimulateOptions = {},
): Promise<Simulation> {
  const memory = memoryDurable(world, options);
  const noCode: SandboxRun = () => Promise.reject(new Error('This test runs no code.'));
  let end: SimulatedEnd | undefined;
  const running = interpret(workflow, input, { durable: memory.durable, runCode: world.runCode ?? noCode }).then(
    (done) => {
      end = { kind: 'succeeded', ...done };
    },
    (thrown) => {
      if (thrown instanceof RunInterrupted) end = { kind: 'crashed' };
      else if (thrown instanceof RunFailure) {
        const { status, error, stepsExecuted } = thrown;
        end = { kind: 'failed', status, error, stepsExecuted };
      } else throw thrown;
    },
  );
  await memory.drive(() => end !== undefined);
  if (!end) {
    memory.interrupt();
    await running;
    end = { kind: 'suspended' };
  } else await running;
  return { end, journal: memory.journal, calls: memory.calls, logs: memory.logs, timeMs: memory.now(), open: memory.open() };
}

interface Wait {
  readonly path: string;
  readonly from: number;
  to: number;
}

interface Opened<T> {
  readonly begin: (end: (make: () => T) => void) => void;
  readonly onAbort: () => T;
}

/** Returns operations over a journal in memory. `drive` moves the virtual clock from event to event. */
function memoryDurable(world: World, { journal: before = [], crashAfter, startMs = 0 }: SimulateOptions) {
  const journal: MemoryEntry[] = [...before];
  const known = new Map(before.map((entry) => [`${entry.kind} ${entry.path}`, entry.value]));
  const calls: Simulation['calls'][number][] = [];
  const logs: Simulation['logs'][number][] = [];
  const values = new Map<string, Json>();
  const open = new Map<string, (reason: RunInterrupted) => void>();
  const waits: Wait[] = [];
  const events: { readonly at: number; readonly order: number; readonly run: () => void }[] = [];
  const cancel = new AbortController();
  let now = startMs;
  let order = 0;
  let isDead = false;

  const at = (time: number, run: () => void) => void events.push({ at: Math.max(time, now), order: order++, run });
  const find = (kind: MemoryEntry['kind'], path: string): Json | undefined => known.get(`${kind} ${path}`);

  function interrupt(): void {
    isDead = true;
    for (const reject of open.values()) reject(new RunInterrupted());
    open.clear();
  }

  function append(kind: MemoryEntry['kind'], path: string, value: Json): void {
    if (isDead) throw new RunInterrupted();
    const copy: Json = JSON.parse(JSON.stringify(value));
    journal.push({ kind, path, value: copy });
    known.set(`${kind} ${path}`, copy);
    if (crashAfter !== undefined && journal.length >= crashAfter) {
      interrupt();
      throw new RunInterrupted();
    }
  }

  /** Opens an operation that ends by `end`, by an abort or by the crash. */
  function operation<T>(path: string, signal: AbortSignal, { begin, onAbort }: Opened<T>): Promise<T> {
    if (isDead) return Promise.reject(new RunInterrupted());
    return new Promise<T>((resolve, reject) => {
      if (open.has(path)) throw new Error(`Two operations have the path ${path}.`);
      const abort = () => end(onAbort);
      const end = (make: () => T) => {
        if (!open.has(path) || isDead) return;
        signal.removeEventListener('abort', abort);
        try {
          resolve(make());
        } catch (thrown) {
          reject(thrown);
        }
        open.delete(path);
      };
      open.set(path, reject);
      signal.addEventListener('abort', abort);
      begin(end);
    });
  }

  function call(path: string, { tool, input, attempt, timeoutMs, signal }: StepCall): Promise<StepEnd> {
    const key = `${path}#${attempt}`;
    const ended = find('ended', key) as unknown as StepEnd | undefined;
    if (ended) return isDead ? Promise.reject(new RunInterrupted()) : Promise.resolve(ended);
    const cancelled = (mayHaveActed: boolean): StepEnd => ({
      ...{ ok: false, mayHaveActed, isRetryable: false, endedAt: now },
      error: { code: 'CANCELLED', message: 'The call was cancelled.' },
    });
    if (signal.aborted) return Promise.resolve(cancelled(find('started', key) !== undefined));
    const finish = (made: StepEnd): StepEnd => (append('ended', key, made as unknown as Json), made);
    const { result = {}, raw, error, afterMs = 1 } = world.tool({ tool, input, path, attempt });
    const mayHaveActed = error?.mayHaveActed ?? true;
    const begin = (end: (make: () => StepEnd) => void) => {
      if (find('started', key) === undefined) append('started', key, { tool, input });
      calls.push({ path, attempt, tool, input });
      if (timeoutMs !== undefined && timeoutMs < afterMs) {
        const late = { code: 'TIMEOUT', message: 'The call took too long.' };
        at(now + timeoutMs, () => end(() => finish({ ...cancelled(mayHaveActed), error: late } as StepEnd)));
        return;
      }
      at(now + afterMs, () => end(() => finish(error ? failedEnd(tool, error, now) : endOf({ raw, result, afterMs, now }))));
    };
    return operation(key, signal, { begin, onAbort: () => finish(cancelled(mayHaveActed)) });
  }

  function approve(path: string, ask: ApprovalAsk, signal: AbortSignal): Promise<ApprovalEnd> {
    const decided = find('decided', path) as unknown as ApprovalEnd | undefined;
    const from = (find('asked', path) as number | undefined) ?? now;
    if (decided && 'at' in decided) {
      waits.push({ path, from, to: decided.at });
      return Promise.resolve(decided);
    }
    if (signal.aborted) return Promise.resolve({ kind: 'cancelled' });
    const begin = (end: (make: () => ApprovalEnd) => void) => {
      if (find('asked', path) === undefined) append('asked', path, from);
      const wait: Wait = { path, from, to: Number.POSITIVE_INFINITY };
      waits.push(wait);
      const decision = world.decide?.(path, ask);
      if (!decision) return;
      at(from + decision.afterMs, () =>
        end(() => {
          wait.to = now;
          const made = { ...decision.end, at: now } as ApprovalEnd;
          append('decided', path, made as unknown as Json);
          return made;
        }),
      );
    };
    return operation(path, signal, { begin, onAbort: () => ({ kind: 'cancelled' }) });
  }

  function sleep(path: string, { until, forMs = 0, pausedBelow, signal }: Sleep): Promise<'elapsed' | 'aborted'> {
    if (find('elapsed', path) !== undefined) return Promise.resolve('elapsed');
    if (signal.aborted) return Promise.resolve('aborted');
    const timer = (find('timer', path) as { from: number; due: number } | undefined) ?? { from: now, due: until ?? now + forMs };
    const begin = (end: (make: () => 'elapsed') => void) => {
      if (find('timer', path) === undefined) append('timer', path, timer);
      const pauses = () => (pausedBelow === undefined ? [] : waits.filter((wait) => isBelow(wait.path, pausedBelow)));
      const check = () => {
        if (pauses().some(({ to }) => to > now)) {
          if (open.size > 1 && events.length > 0) at(events.toSorted(byTime)[0]?.at ?? now, check);
          return;
        }
        const paused = pauses().reduce((sum, { from, to }) => sum + Math.max(0, to - Math.max(from, timer.from)), 0);
        if (now < timer.due + paused) at(timer.due + paused, check);
        else end(() => (append('elapsed', path, true), 'elapsed'));
      };
      at(timer.due, check);
    };
    return operation<'elapsed' | 'aborted'>(path, signal, { begin, onAbort: () => 'aborted' });
  }

  async function record<T extends Json>(path: string, make: () => T): Promise<T> {
    if (isDead) throw new RunInterrupted();
    if (find('value', path) === undefined) append('value', path, make());
    return find('value', path) as T;
  }

  const durable: Durable = {
    call,
    approve,
    sleep,
    record,
    recorded: (path) => find('value', path) ?? find('elapsed', path),
    now: (path) => record(path, () => now),
    random: (path) => record(path, () => Number.parseInt(sha256(path).slice(0, 8), 16) / 2 ** 32),
    async store(value: Json, overBytes = 64 * 1024): Promise<StoredValue> {
      const text = JSON.stringify(value);
      if (text.length <= overBytes) return { inline: value };
      values.set(sha256(text), value);
      return { sha256: sha256(text), bytes: text.length };
    },
    load: async (value) => ('inline' in value ? value.inline : (values.get(value.sha256) as Json)),
    log: (path, line) => void logs.push({ path, ...line }),
    hold: () => () => {},
    cancelled: cancel.signal,
  };
  const doCancel = () => cancel.abort(world.cancelReason);
  if (find('cancel', '') !== undefined) doCancel();
  else if (world.cancelAt !== undefined) {
    at(world.cancelAt, () => {
      try {
        append('cancel', '', true);
        doCancel();
      } catch {}
    });
  }

  /** Runs events in the order of their times until `isOver`, or until no event is left. */
  async function drive(isOver: () => boolean): Promise<void> {
    for (;;) {
      await setImmediate();
      if (isOver()) return;
      const next = events.toSorted(byTime)[0];
      if (!next) return;
      events.splice(events.indexOf(next), 1);
      now = Math.max(now, next.at);
      next.run();
    }
  }

  return { durable, journal, calls, logs, drive, interrupt, now: () => now, open: () => [...open.keys()] };
}

function endOf(made: { raw: JsonObject | undefined; result: JsonObject; afterMs: number; now: number }): StepEnd {
  const { raw, result, afterMs: latencyMs, now: endedAt } = made;
  const value = raw ?? { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: result };
  return { ok: true, value: { inline: value }, isError: value.isError === true, server: 'test', latencyMs, endedAt };
}

function failedEnd(tool: string, { code, ...rest }: NonNullable<ToolResponse['error']>, endedAt: number): StepEnd {
  return { ok: false, ...rest, error: { code, message: `${tool} failed` }, endedAt };
}

type TimedEvent = { readonly at: number; readonly order: number };
const byTime = (a: TimedEvent, b: TimedEvent): number => a.at - b.at || a.order - b.order;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const isBelow = (path: string, top: string): boolean => top === '' || path === top || path.startsWith(`${top}/`);
