import type { Settings } from '../../config/schema/schema.ts';
import { abortable } from '../../core/async/abortable.ts';
import { BoundedSet } from '../../core/bounded-map.ts';
import { newCallId } from '../../core/call/call-id.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { Caller, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { type Clock, realTimer, type Timer } from '../../core/time.ts';
import type { ApiKeyBook } from '../../store/api-key-book.ts';
import type { ApprovalBox, OpenedApproval, ReplaceCondition, StoredApproval } from '../../store/approval-box.ts';
import type { CallBook } from '../../store/approvals/call-book.ts';
import type { StandingBook } from '../../store/approvals/standing-book.ts';
import type { AuditLog } from '../../store/audit-log.ts';
import type { LeaseBook } from '../../store/lease-book.ts';
import { refusedDecision, unknownApproval } from './approval-errors.ts';
import type { SignatureOf } from './binding.ts';
import { countsWith, type Identities, readIdentities } from './identities.ts';
import { type ApprovalEvent, isApprovalId, isOpen, type NextApproval, nextApproval } from './next-approval.ts';
import { approvalRunner, type ProcessNames, type Runner } from './runner.ts';
import type { CountsStill } from './stage-progress.ts';
import { unexpired } from './standing.ts';

/** Limits on open approvals. */
const LIMITS = { perPrincipal: 50, total: 10_000 };
const MAX_TIMER_MS = 2_147_483_647;
const SWEEP_ROWS = 100;
const MAX_RUNNING = 10_000;
const RECHECK_MS = 30_000;
const WITHDRAWN = { kind: 'void', reason: 'The client cancelled its call.' } as const;

export interface ApprovalFlowOptions {
  readonly box: ApprovalBox;
  readonly calls: CallBook;
  readonly standing: StandingBook;
  readonly leases: LeaseBook;
  readonly processes: ProcessNames;
  readonly keys: ApiKeyBook;
  readonly audit: AuditLog;
  readonly settings: () => Settings;
  /** The names of all configured servers and pools. */
  readonly groups: () => ReadonlySet<string> | undefined;
  readonly signatureOf: SignatureOf;
  /** Returns the file and line of a server's entry. */
  readonly fileOf: (server: string) => string | undefined;
  readonly onChange?: (approval: StoredApproval) => void;
  readonly clock?: Clock;
  readonly timer?: Timer;
}

/** Changes approvals: applies events, writes records and stores the time at which each is over. */
export interface ApprovalFlow extends Required<Omit<ApprovalFlowOptions, 'onChange' | 'timer'>> {
  readonly identities: () => Promise<Identities>;
  /** Adds an approval, or returns the open one of the same binding. */
  open(approval: StoredApproval): Promise<OpenedApproval>;
  /** Applies an event to the stored state. Another process may be faster: then the event meets the newer state. */
  apply(id: string, event: ApprovalEvent): Promise<NextApproval>;
  /** Notes that a client cancelled its call. An approval that no other call waits for becomes void. */
  withdraw(by: Caller, callId: string): Promise<void>;
  /** Decides between two audit records. Throws APPROVAL_SETTLED or PERMISSION_DENIED. */
  decide(by: Caller, id: string, decision: FlowDecision): Promise<StoredApproval>;
  /** Resolves once an approval is no longer pending. Throws NAME_UNKNOWN. */
  settled(id: string, signal: AbortSignal): Promise<StoredApproval>;
  /** Stores the states of the approvals whose time is over. */
  sweep(): Promise<void>;
  /** The same for at most 100, so that a caller does not wait for thousands. Returns true if there may be more. */
  sweepPage(): Promise<boolean>;
  /** The ids of the calls of this process that use an approval and have no end yet. */
  readonly running: Set<string>;
  /** Shows other processes that this one runs approved calls. */
  readonly runner: Runner;
  close(): void;
}

export interface FlowDecision {
  readonly verdict: 'approve' | 'reject';
  readonly note?: string | undefined;
  /** The content of the form of an approval step. */
  readonly content?: JsonObject | undefined;
  /** The channel; that of the caller if absent. */
  readonly via?: string;
}

/** Opens the flow of approvals over the stores. */
export function approvalFlow(options: ApprovalFlowOptions): ApprovalFlow {
  const { box, calls, keys, audit, settings, onChange, clock = Date.now, timer = realTimer } = options;
  const runner = approvalRunner({ ...options, timer });
  const sweeps = sweeper({ box, clock, timer, sweep: () => sweep() });

  const apply = applier({ ...options, clock, changed });

  function changed(before: StoredApproval | undefined, approval: StoredApproval): void {
    if (isOpen(approval)) sweeps.at(approval.expiresAt);
    if (before?.status === approval.status && before.decisions.length === approval.decisions.length) return;
    audit.append(stepRecord(approval, clock()));
    onChange?.(approval);
  }

  const sweepPage = () => settleDue({ box, apply, clock });
  const sweep = () => settleAllDue({ box, apply, clock, standing: options.standing });
  return {
    ...options,
    clock,
    running: new BoundedSet(MAX_RUNNING),
    identities: () => readIdentities(keys, settings()),
    async open(approval) {
      let opened = await box.open(approval, LIMITS);
      if ('limit' in opened) {
        await sweepPage();
        opened = await box.open(approval, LIMITS);
      }
      if ('isNew' in opened && opened.isNew) changed(undefined, opened.approval);
      return opened;
    },
    apply,
    async withdraw(by, callId) {
      const ids = await calls.cancel(vaultPrincipal(by), callId);
      for (const id of ids.filter(isApprovalId)) await apply(id, WITHDRAWN, { unlessAwaited: true });
    },
    async decide(by, id, { verdict, note, content, via = by.via }) {
      const callId = newCallId();
      const recordOf = () => ({ callId, at: clock(), caller: by.id, via: by.via, name: `approvals.${verdict}` });
      const detail = { approval: id, roles: by.roles, channel: via, ...(note !== undefined && { note }) };
      await audit.appendDurably({ ...recordOf(), phase: 'intent', detail });
      const end = (outcome: string) =>
        audit.append({ ...recordOf(), phase: 'outcome', detail: { approval: id, outcome } });
      try {
        const { approval, refusal } = await apply(id, { kind: 'decide', by, verdict, via, note, content });
        if (refusal) throw refusedDecision(approval, refusal, by);
        end(approval.status);
        return approval;
      } catch (thrown) {
        end(HeddleError.from(thrown).code);
        throw thrown;
      }
    },
    settled: (id, signal) => untilSettled({ box, apply, clock, timer }, id, signal),
    sweep,
    sweepPage,
    runner,
    close() {
      sweeps.close();
      runner.close();
    },
  };
}

interface ApplierOptions extends Pick<ApprovalFlowOptions, 'box' | 'calls' | 'keys' | 'settings'> {
  readonly clock: Clock;
  readonly changed: (before: StoredApproval, approval: StoredApproval) => void;
}

interface ApplyCondition extends ReplaceCondition {
  readonly countsStill?: CountsStill | undefined;
}

/** Returns the function that applies an event to a stored approval. */
function applier({ box, calls, keys, settings, clock, changed }: ApplierOptions) {
  /** Applies it once. Returns undefined if another process was faster. */
  async function applyOnce(id: string, event: ApprovalEvent, condition: ApplyCondition) {
    const { countsStill, unlessAwaited } = condition;
    const stored = await box.get(id);
    if (!stored) throw unknownApproval(id);
    if (unlessAwaited && (await calls.isAwaited(id))) return { approval: stored };
    const next = nextApproval(stored, event, { now: clock(), ...(countsStill && { countsStill }) });
    if (next.approval === stored) return next;
    const approval = { ...next.approval, version: stored.version + 1 };
    if (!(await box.replace(approval, condition))) return undefined;
    changed(stored, approval);
    return { ...next, approval };
  }

  return async function apply(id: string, event: ApprovalEvent, condition?: ReplaceCondition): Promise<NextApproval> {
    const needsKeys = event.kind === 'decide' || event.kind === 'replan';
    const countsStill = needsKeys ? countsWith(await readIdentities(keys, settings())) : undefined;
    for (;;) {
      const next = await applyOnce(id, event, { ...condition, countsStill });
      if (next) return next;
    }
  };
}

/** Returns the record of a step, with the state after it. The records of decisions and calls name who acted. */
function stepRecord(approval: StoredApproval, at: number) {
  const { id, status, requestedBy, via, agent, subject, decisions, stages, rule, approvalRule, callId } = approval;
  return {
    callId: callId ?? id,
    phase: 'outcome' as const,
    at,
    caller: requestedBy,
    via,
    name: 'approvals.state',
    detail: {
      ...{ approval: id, outcome: status, tool: subject.name, digest: subject.digest, input: subject.inputDigest },
      ...{ rule, approvalRule, stages: stages.length, decisions: decisions.length, reason: approval.reason, agent },
    },
  };
}

type Timed = Pick<ApprovalFlow, 'box' | 'apply' | 'clock'>;

/** Stores the states of the first approvals whose time is over. Returns true if there may be more. */
async function settleDue({ box, apply, clock }: Timed): Promise<boolean> {
  const due = await box.due(clock(), SWEEP_ROWS);
  for (const { id } of due) await apply(id, { kind: 'time' });
  return due.length === SWEEP_ROWS;
}

async function settleAllDue(timed: Timed & Pick<ApprovalFlow, 'standing'>): Promise<void> {
  while (await settleDue(timed));
  await unexpired(timed);
}

type Waiting = Timed & { readonly timer: Timer };

/** Waits for a change by any process, or for the end of the time. */
async function untilSettled(flow: Waiting, id: string, signal: AbortSignal): Promise<StoredApproval> {
  const { box, apply, clock, timer } = flow;
  let wake = () => {};
  const unwatch = box.watch((changed = id) => changed === id && wake());
  try {
    for (;;) {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve; // Set before the read, so that no change after it is lost.
      const { approval } = await apply(id, { kind: 'time' });
      if (approval.status !== 'pending') return approval;
      const cancel = timer(Math.min(Math.max(approval.expiresAt - clock(), 1), MAX_TIMER_MS), resolve);
      try {
        await abortable(promise, signal);
      } finally {
        cancel();
      }
    }
  } finally {
    unwatch();
  }
}

interface SweeperOptions extends Pick<Waiting, 'box' | 'clock' | 'timer'> {
  readonly sweep: () => Promise<void>;
}

/**
 * Sweeps when the next open approval of the store is over, so that a clock set back later revives none. Those that other
 * processes request are found within 30 s.
 */
function sweeper({ box, clock, timer, sweep }: SweeperOptions) {
  let next = Number.POSITIVE_INFINITY;
  let cancel = () => {};
  let isClosed = false;
  function arm(time: number): void {
    cancel();
    next = time;
    if (!isClosed) cancel = timer(Math.min(Math.max(time - clock(), 1), RECHECK_MS), () => void fire());
  }
  async function armNext(): Promise<void> {
    const stored = await box.nextExpiry().catch(() => undefined); // If the read fails, the next timer tries again.
    arm(Math.min(next, stored ?? next));
  }
  async function fire(): Promise<void> {
    next = Number.POSITIVE_INFINITY;
    const isSwept = await sweep().then(
      () => true,
      () => false, // The next read of each approval stores its state.
    );
    if (isSwept) await armNext();
    else arm(Math.min(next, clock() + RECHECK_MS)); // The next expiry may be over: it would fire at once.
  }
  void armNext();
  return {
    at(time: number): void {
      if (time < next) arm(time);
    },
    close(): void {
      isClosed = true;
      cancel();
    },
  };
}
