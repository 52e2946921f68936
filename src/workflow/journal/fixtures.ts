import {
  type Call,
  compose,
  type DecidedCall,
  type JsonObject,
  type Result,
  type Stage,
  type Target,
} from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { aCall, ada, aTarget } from '../../core/fixtures.ts';
import { audit } from '../../govern/audit.ts';
import { type RealStore, realStore } from '../../govern/fixtures.ts';
import { recordIntent } from '../../govern/record-intent.ts';
import type { JournalWrite, RunJournal, StoredRun } from '../../store/run-journal.ts';
import type { ClaimedRun, RunOwner } from '../../store/run-queue.ts';
import type { Workflow } from '../definition/canonical.ts';
import { advance } from '../run/advance.ts';
import type { ApprovalEnd } from '../run/durable.ts';
import type { Advanced } from '../run/engine.ts';
import { interpret } from '../run/interpret.ts';
import type { RunParts } from '../run/run-parts.ts';
import { type NewRun, startRun } from '../run/start-run.ts';
import { type EntryKind, type RunEntry, toRunEntry } from './entries.ts';

/** A call that has reached the server. */
export interface ReachedCall {
  readonly tool: string;
  readonly id: string;
  readonly input: JsonObject;
  readonly key: unknown;
  readonly run: string | undefined;
}

export interface RunBench {
  readonly store: RealStore;
  readonly parts: RunParts;
  /** The calls that have reached the server. */
  readonly reached: ReachedCall[];
  /** Changes the response of a tool. */
  respond(tool: string, respond: (call: DecidedCall) => Promise<Result> | Result): void;
  /** The decisions about approvals by id. */
  readonly decisions: Map<string, ApprovalEnd>;
  readonly requested: string[];
  readonly withdrawn: string[];
  /** Kills the process of the current execution: it writes and sends nothing more. The next one is another process. */
  kill(): void;
  /** Kills the process once it has written this many entries, of any kind or of one. */
  killAfter(entries: number, kind?: EntryKind): void;
  /** Returns the tools that a run has called, in order. */
  called(run: StoredRun): readonly string[];
  create(workflow: Workflow, options?: Partial<NewRun>): Promise<StoredRun>;
  claim(run: StoredRun, owner?: string): Promise<ClaimedRun>;
  /** Executes a run once and releases it. */
  advance(run: StoredRun, signal?: AbortSignal): Promise<Advanced>;
  get(run: StoredRun): Promise<StoredRun>;
  output(run: StoredRun): Promise<unknown>;
  entries(run: StoredRun): Promise<readonly RunEntry[]>;
}

const FACTS: Record<string, Partial<Target['facts']>> = {
  read: { readOnly: true },
  put: { idempotent: true },
  write: {},
};

/** Returns the target of `write`, `put` or `read`, by the beginning of the name. */
const targetOf = (name: string): Target => {
  const [, facts = {}] = Object.entries(FACTS).find(([kind]) => name.startsWith(kind)) ?? [];
  return aTarget({ name, publicName: `mcp__demo__${name}`, facts });
};

export const completeWith = (structuredContent: JsonObject): Result => ({
  kind: 'complete',
  value: { content: [], structuredContent },
  isError: false,
  provenance: { server: 'demo', attempts: 1, latencyMs: 1 },
});

/** Returns the time of the store. No test depends on it. */
export const timeNow = (): number => Date.now();

const ownerOf = (id: string): RunOwner => ({ id, pid: process.pid, startedAt: id });

/** A process that can be killed. */
class Life {
  isDead = false;
  entriesLeft = Number.POSITIVE_INFINITY;
  kind: EntryKind | undefined;
  lastWrite: Promise<void> | undefined;

  requireAlive(): void {
    if (this.isDead) throw new HeddleError('RUN_LEASE_LOST', 'The process is dead.');
  }

  /** Writes the entries that fit in the rest of its life. They are an order-preserving prefix, as after a crash. */
  async append(journal: RunJournal, write: JournalWrite, urgency: 'now' | 'soon'): Promise<void> {
    this.requireAlive();
    const { entries, change: _, ...rest } = write;
    const last = entries.findIndex(({ kind }) => (this.kind ?? kind) === kind && --this.entriesLeft === 0);
    if (last < 0) return journal.append(write, urgency);
    this.isDead = true;
    this.lastWrite = journal.append({ ...rest, entries: entries.slice(0, last + 1) }, 'now');
    await this.lastWrite;
    this.requireAlive();
  }
}

type Responses = Map<string, (call: DecidedCall) => Promise<Result> | Result>;

interface Server {
  readonly reached: ReachedCall[];
  readonly responses: Responses;
  readonly life: () => Life;
}

/** Opens a server in this process behind the stages of audit and intent. */
function serverOf(store: RealStore, { reached, responses, life }: Server) {
  const isAlive: Stage<DecidedCall> = async (call, next) => {
    life().requireAlive();
    return next(call);
  };
  const handler = compose<DecidedCall>([isAlive, recordIntent(store.audit), isAlive], async (call) => {
    const { name } = call.target;
    if (call.continuation?.kind !== 'task')
      reached.push({
        tool: name,
        id: call.id,
        input: call.input,
        key: call.meta['dev.heddle/idempotencyKey'],
        run: call.fence?.run,
      });
    return responses.get(name)?.(call) ?? completeWith({ tool: name, ...call.input });
  });
  const closing = audit(store.audit);
  return (call: Call) => closing(call, () => handler(aCall({ ...call, target: targetOf(call.name) })));
}

/** Opens runs on a real store. */
export async function runBench(change: (parts: RunParts) => Partial<RunParts> = () => ({})): Promise<RunBench> {
  const store = await realStore();
  const reached: ReachedCall[] = [];
  const responses: Responses = new Map();
  let life = new Life();
  const dispatch = serverOf(store, { reached, responses, life: () => life });
  const [decisions, requested, withdrawn] = [new Map<string, ApprovalEnd>(), [] as string[], [] as string[]];
  const basic: RunParts = {
    journal: { ...store.runs, append: (write, urgency) => life.append(store.runs, write, urgency) },
    audit: store.audit,
    dispatch,
    describe: async ({ name }) => targetOf(name),
    callerOf: async () => ada,
    approvals: {
      async request({ run, path }) {
        requested.push(path);
        return `ap_${run.id}_${path}`;
      },
      async state(id) {
        const end = decisions.get(id);
        return end ? { kind: 'settled', end } : { kind: 'pending', expiresAt: Date.now() + 3_600_000 };
      },
      withdraw: async (id) => void withdrawn.push(id),
    },
    execute: (workflow, input, { durable, run }) =>
      interpret(workflow, input, { durable, run: { id: run.id }, runCode: async () => null }),
  };
  const parts = { ...basic, ...change(basic) };
  const queue = store.runQueue;
  if (!queue) throw new Error('The store has no queue.');
  const bench: RunBench = {
    store,
    parts,
    reached,
    respond: (tool, respond) => void responses.set(tool, respond),
    decisions,
    requested,
    withdrawn,
    create: (workflow, options = {}) => startRun(parts, { workflow, input: {}, caller: ada, ...options }),
    async claim({ id }, owner = crypto.randomUUID()) {
      const isAlive = () => false;
      const [claimed] = await queue.claim({ owner: ownerOf(owner), now: Date.now(), limit: 1, only: [id], isAlive });
      if (!claimed) throw new Error(`The run ${id} cannot be claimed.`);
      return claimed;
    },
    kill: () => Object.assign(life, { isDead: true }),
    killAfter: (entriesLeft, kind) => Object.assign(life, { entriesLeft, kind }),
    called: ({ id }) => reached.flatMap(({ run, tool }) => (run === id ? tool : [])),
    async advance(run, signal = new AbortController().signal) {
      const claimed = await bench.claim(run);
      const advanced = await advance(claimed, parts, signal);
      const { isDead, lastWrite } = life;
      await lastWrite;
      life = new Life();
      if (!isDead) await queue.release(claimed, advanced.kind === 'suspended' ? advanced.wakeAt : undefined);
      return advanced;
    },
    async get({ id }) {
      const found = await store.runs.get(id);
      if (!found) throw new Error(`There is no run ${id}.`);
      return found;
    },
    async output(run) {
      const { output } = await bench.get(run);
      return output === undefined ? undefined : store.runs.value(output);
    },
    entries: async ({ id }) => (await store.runs.entries(id)).map(toRunEntry),
  };
  return bench;
}
