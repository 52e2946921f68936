import { IDEMPOTENCY_META } from '../../core/bound-meta.ts';
import { hasUnknownOutcome } from '../../core/call/repeatable.ts';
import {
  type CompleteResult,
  type RunToCompletionOptions,
  runToCompletion,
} from '../../core/call/run-to-completion.ts';
import type { Call, Target } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { ENDED_STATUSES } from '../../core/records/run.ts';
import { traceparentBelow } from '../../core/traceparent.ts';
import { RunInterrupted, type StepEnd } from '../run/durable.ts';
import { isStoreFailure } from './activity.ts';
import { type CallAborter, callAborter } from './call-aborter.ts';
import { idempotencyKeyOf } from './call-ids.ts';
import { eventKeys } from './events.ts';
import type { RunContext } from './run-context.ts';
import { abortedEnd, completeEnd, failedEnd, isRepeatableStep, WORKFLOW_SERVER } from './step-end.ts';
import type { StepSending } from './step-sending.ts';
import { orAborted, settledApproval } from './wait-for-person.ts';

/** `doubt`: it is unknown whether the call happened, and it must not be repeated. */
export type SendOutcome = { readonly kind: 'end'; readonly end: StepEnd } | { readonly kind: 'doubt' };

/** The call may take this much longer than its step, whose own timeout comes first. */
const SPARE_MS = 1000;
/** The longest time after which a run looks for the end of a child whose signal was lost in a crash. */
const RECHECK_MS = 300_000;
const DESCRIBE_MS = 5000;
const NAMED_MS = 30_000;
const LOOK_AGAIN_MS = 100;
const CHILD_POLL_MS = 10;

/** Dispatches a call and follows it to its end. */
export async function sendCall(context: RunContext, sending: StepSending): Promise<SendOutcome> {
  const { writer, activity, clock } = context;
  const aborter = callAborter(context, sending);
  const { signal } = aborter;
  const forget = context.children.add(sending);
  try {
    await untilReady(context, sending, aborter);
    const call = toCall(context, sending, signal);
    const dispatch = (next: Call) => {
      if (activity.isInterrupted) throw new RunInterrupted();
      return context.parts.dispatch(next);
    };
    const completion = runToCompletion(dispatch, call, waysToWait(context, sending, aborter.dueAt));
    const result: CompleteResult = await aborter.withGrace(completion);
    const isUnknown: boolean = hasUnknownOutcome(result);
    if (isUnknown) throw unknownOutcome(sending.call.tool);
    return { kind: 'end', end: completeEnd(result, writer.store(result.value), clock()) };
  } catch (thrown) {
    return await outcomeOf(context, sending, { thrown, abortedBy: aborter.reason() });
  } finally {
    forget();
    aborter.release();
  }
}

/** Waits for the event that a call of an earlier execution waits for. */
async function untilReady(context: RunContext, sending: StepSending, aborter: CallAborter): Promise<void> {
  const { continuation } = sending;
  const { signal, dueAt } = aborter;
  if (continuation?.kind === 'approval') await decided(context, sending, { approval: continuation.id, signal });
  if (continuation?.kind !== 'task' || continuation.server !== WORKFLOW_SERVER) return;
  await childEnded(context, { child: continuation.taskId, signal, timeoutAt: dueAt });
  await untilNamed(context, sending, signal);
}

/** Waits until the tool of a workflow exists, for at most 30 s: a program that restarts registers its workflows later. */
export async function untilNamed(context: RunContext, sending: StepSending, signal: AbortSignal): Promise<void> {
  const { activity, sleeps, clock } = context;
  const latest = clock() + NAMED_MS;
  while (!signal.aborted && clock() < latest && (await isUnnamed(context, sending))) {
    const sleeper = sleeps.start({ until: clock() + LOOK_AGAIN_MS });
    await activity.wait(orAborted(sleeper.elapsed, signal), sleeper.dueAt);
    sleeper.cancel();
  }
}

async function isUnnamed(context: RunContext, sending: StepSending): Promise<boolean> {
  try {
    await context.parts.describe(toCall(context, sending, AbortSignal.timeout(DESCRIBE_MS)));
    return false;
  } catch (thrown) {
    return HeddleError.is(thrown) && thrown.code === 'NAME_UNKNOWN';
  }
}

/** Returns the continuation of the run that a call began; undefined if it began none. Needs no catalog. */
export async function childRunOf({ parts, caller }: RunContext, { callId }: StepSending) {
  const child = await parts.journal.ofCall(caller.id, callId);
  return child && ({ kind: 'task', server: WORKFLOW_SERVER, taskId: child.id, pollMs: CHILD_POLL_MS } as const);
}

function toCall({ run, fence, caller, parts }: RunContext, sending: StepSending, signal: AbortSignal): Call {
  const { path, call, callId, continuation } = sending;
  const { idempotency, timeoutMs } = call;
  const key = typeof idempotency === 'object' ? idempotency.key : idempotencyKeyOf(run.id, path);
  const capabilities = parts.inputOf?.(run.id)?.capabilities;
  return {
    id: callId,
    kind: 'tool',
    name: call.tool,
    input: call.input,
    meta: idempotency === 'none' ? {} : { [IDEMPOTENCY_META]: key },
    caller: { ...caller, via: 'workflow', ...(capabilities && { capabilities }) },
    options: timeoutMs === undefined ? {} : { timeoutMs: timeoutMs + SPARE_MS },
    acceptsTask: true,
    parent: run.traceparent ?? traceparentBelow({ id: run.callId ?? run.id, meta: {} }),
    fence: { ...fence, path },
    signal,
    ...(capabilities && { capabilities }),
    ...(continuation && { continuation }),
  };
}

/** Returns the ways in which a call waits: for a task, an approver, a response. Each is recorded. */
function waysToWait(
  context: RunContext,
  sending: StepSending,
  timeoutAt: () => number | undefined,
): RunToCompletionOptions {
  const { parts, writer, pauses, activity, sleeps, clock, run } = context;
  const { path, send, call } = sending;
  const place = { attempt: call.attempt, send };
  let last = sending.continuation;
  return {
    describe: parts.describe,
    clock,
    async onContinuation(continuation) {
      const isSameTask = last?.kind === 'task' && continuation.kind === 'task' && last.taskId === continuation.taskId;
      last = continuation;
      if (isSameTask || continuation.kind === 'approval') return;
      writer.add('continued', path, { ...place, continuation });
      if (continuation.kind === 'task') await writer.commit();
    },
    async settled(approval, signal) {
      writer.add('waiting', path, { ...place, approval: approval.id });
      writer.flush();
      pauses.open(path, clock());
      await decided(context, sending, { approval: approval.id, signal });
    },
    async ask(inputRequests, server, signal) {
      const input = parts.inputOf?.(run.id);
      if (!input) throw noResponder(call.tool, server);
      writer.add('waiting', path, place);
      pauses.open(path, clock());
      const responses = await input.respond({ path, server, inputRequests }, signal);
      writer.add('decided', path, { ...place, at: clock() });
      pauses.close(path, clock());
      return responses;
    },
    async pause(ms, signal) {
      if (last?.kind === 'task' && last.server === WORKFLOW_SERVER)
        return childEnded(context, { child: last.taskId, signal, timeoutAt });
      const sleeper = sleeps.start({ until: clock() + ms });
      const wakeAt = () => earlier(sleeper.dueAt(), timeoutAt());
      await activity.wait(orAborted(sleeper.elapsed, signal), wakeAt);
      sleeper.cancel();
    },
  };
}

const earlier = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);

/** Waits for the decision about the approval of a call. An abort withdraws it. */
async function decided(
  context: RunContext,
  { path, send, call }: StepSending,
  { approval, signal }: { readonly approval: string; readonly signal: AbortSignal },
): Promise<void> {
  const settled = await settledApproval(context, approval, signal);
  if (!settled) {
    await context.parts.approvals.withdraw(approval);
    throw new HeddleError('CALL_CANCELLED', `The call of ${call.tool} was cancelled while it waited for an approval.`);
  }
  const at = 'at' in settled ? settled.at : context.clock();
  context.writer.add('decided', path, { attempt: call.attempt, send, approval, at });
  context.pauses.close(path, at);
}

interface ChildWait {
  readonly child: string;
  readonly signal: AbortSignal;
  readonly timeoutAt: () => number | undefined;
}

/** Waits until the run that a `workflow` step began has ended. */
async function childEnded(
  { parts, events, activity, clock }: RunContext,
  { child, signal, timeoutAt }: ChildWait,
): Promise<void> {
  while (!signal.aborted) {
    const next = events.next(eventKeys.child(child));
    const run = await parts.journal.get(child);
    if (!run || ENDED_STATUSES.includes(run.status)) return;
    const recheckAt = clock() + RECHECK_MS;
    await activity.wait(orAborted(next, signal), () => earlier(recheckAt, timeoutAt()));
  }
}

interface FailedSending {
  readonly thrown: unknown;
  readonly abortedBy: 'cancelled' | 'timeout' | undefined;
}

async function outcomeOf(
  context: RunContext,
  sending: StepSending,
  { thrown, abortedBy }: FailedSending,
): Promise<SendOutcome> {
  const { activity, onLost, clock } = context;
  if (isStoreFailure(thrown)) onLost();
  if (activity.isInterrupted || thrown instanceof RunInterrupted) throw new RunInterrupted();
  const target = await targetOfStep(context, sending);
  const isRepeatable = isRepeatableStep(sending.call, target);
  const facts = { isRepeatable, isReadOnly: target?.facts.readOnly ?? false, endedAt: clock() };
  const { tool, timeoutMs } = sending.call;
  if (abortedBy) {
    await cancelChild(context, sending).catch(() => {}); // Without a store this end cannot be written either.
    const code = abortedBy === 'timeout' ? 'TIMEOUT' : 'CANCELLED';
    return { kind: 'end', end: abortedEnd({ code, tool, timeoutMs }, { ...facts, wasSent: true }) };
  }
  const isUnknown = HeddleError.is(thrown) && thrown.code === 'OUTCOME_UNKNOWN';
  return isUnknown && !isRepeatable ? { kind: 'doubt' } : { kind: 'end', end: failedEnd(thrown, facts) };
}

/** Cancels the run that an aborted call began. A cancelled task needs its tool, which a restarted program may lack. */
async function cancelChild({ run, caller, parts: { journal } }: RunContext, { path, callId }: StepSending) {
  const child = await journal.ofCall(caller.id, callId);
  if (!child || ENDED_STATUSES.includes(child.status)) return;
  const detail = { reason: `The step ${path} of the run ${run.id} has ended.` };
  await journal.signal(child.id, { kind: 'cancel', by: caller.id, detail });
}

/** Looks up the tool of a call; undefined if it does not exist any more. */
export async function targetOfStep(context: RunContext, sending: StepSending): Promise<Target | undefined> {
  const call = toCall(context, sending, AbortSignal.timeout(DESCRIBE_MS));
  return context.parts.describe(call).catch(() => undefined);
}

const unknownOutcome = (tool: string) =>
  new HeddleError('OUTCOME_UNKNOWN', `${tool} has failed, and reports that it may have had its effect.`);

const noResponder = (tool: string, server: string) =>
  new HeddleError(
    'UPSTREAM_REFUSED',
    `The server ${server} requested input during ${tool}, and no caller can respond.`,
    {
      fix: 'Run the workflow from a terminal with `heddle run`, or from a client with elicitation, and do not detach it.',
      details: { server },
    },
  );
