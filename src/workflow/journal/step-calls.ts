import type { RunResolution } from '../../core/records/run.ts';
import type { StepCall, StepEnd } from '../run/durable.ts';
import { callIdOf } from './call-ids.ts';
import { attemptKey, type BegunCall } from './history.ts';
import type { RunContext } from './run-context.ts';
import { childRunOf, type SendOutcome, sendCall, targetOfStep, untilNamed } from './send-call.ts';
import { abortedEnd, isRepeatableStep, resolvedResult, WORKFLOW_SERVER } from './step-end.ts';
import type { StepSending } from './step-sending.ts';

/** The most times that a call with `onInDoubt: retry` is sent. A person may send it again. */
const MAX_SENDS = 5;

/** Calls a tool, or returns the recorded end of the call. */
export async function callOnce(context: RunContext, path: string, call: StepCall): Promise<StepEnd> {
  const { history, activity, writer, pauses, clock } = context;
  const recorded = history.ends.get(attemptKey(path, call.attempt));
  if (recorded) return recorded;
  return activity.operate(async () => {
    const end = await toEnd(context, path, call);
    writer.add('finished', path, { attempt: call.attempt, end });
    pauses.close(path, clock());
    return end;
  });
}

async function toEnd(context: RunContext, path: string, call: StepCall): Promise<StepEnd> {
  let known = context.history.sent.get(attemptKey(path, call.attempt));
  let sending: StepSending = known
    ? { path, call, send: known.send, callId: known.callId, startedAt: known.at }
    : sendingOf(context, { path, call, send: 1 });
  let outcome = known ? await recover(context, sending, known) : await begin(context, sending);
  while (outcome.kind === 'doubt') {
    const next = await settleDoubt(context, sending, known);
    known = undefined;
    if ('end' in next) return next.end;
    sending = sendingOf(context, next);
    outcome = await begin(context, sending);
  }
  return outcome.end;
}

function sendingOf(
  { run, clock }: RunContext,
  { path, call, send }: Pick<StepSending, 'path' | 'call' | 'send'>,
): StepSending {
  const callId = callIdOf({ run: run.id, path, attempt: call.attempt, send });
  return { path, call, send, callId, startedAt: clock() };
}

/** Begins a call. Its start commits no later than its intent. */
async function begin(context: RunContext, sending: StepSending): Promise<SendOutcome> {
  const { parts, writer } = context;
  await parts.journal.ready();
  await whileDraining(context);
  await context.requireCaller();
  const { path, call, send, callId } = sending;
  if (call.signal.aborted) return { kind: 'end', end: cancelled(context, sending, { wasSent: false }) };
  writer.add('started', path, { attempt: call.attempt, send, callId, tool: call.tool });
  writer.flush();
  return sendCall(context, sending);
}

/** Begins nothing in a process that closes. */
async function whileDraining({ draining, activity, clock }: RunContext): Promise<void> {
  if (draining.aborted) await activity.wait(new Promise(() => {}), clock);
}

/**
 * Goes on with a call that an earlier execution began. It follows a task or a child run; it sends a call again that was
 * never sent or may be repeated; all others are in doubt.
 */
async function recover(context: RunContext, sending: StepSending, known: BegunCall): Promise<SendOutcome> {
  const { approval, isInDoubt, resolution } = known;
  if (isInDoubt || resolution) return { kind: 'doubt' };
  await whileDraining(context);
  const continuation = known.continuation ?? (await childRunOf(context, sending));
  if (continuation?.kind === 'task') return sendCall(context, { ...sending, continuation });
  const approved = approval && { continuation: { kind: 'approval', id: approval.id } as const };
  if (approval && !approval.isDecided) return sendCall(context, { ...sending, ...approved });
  const wasSent = await context.wasSent(known);
  if (sending.call.signal.aborted) return { kind: 'end', end: await cancelledLater(context, sending, wasSent) };
  if (sending.call.tool.startsWith(`mcp__${WORKFLOW_SERVER}__`))
    await untilNamed(context, sending, sending.call.signal);
  // It begins now, so its timeout does not count the time in which no process executed the run.
  if (!wasSent) return begin(context, { ...sending, ...approved, startedAt: context.clock() });
  const isRepeatable = isRepeatableStep(sending.call, await targetOfStep(context, sending));
  return isRepeatable ? sendCall(context, sending) : { kind: 'doubt' };
}

async function cancelledLater(context: RunContext, sending: StepSending, wasSent: boolean): Promise<StepEnd> {
  const target = wasSent ? await targetOfStep(context, sending) : undefined;
  return cancelled(context, sending, { wasSent, isReadOnly: target?.facts.readOnly ?? false });
}

function cancelled(
  { clock }: RunContext,
  { call: { tool } }: StepSending,
  { wasSent, isReadOnly = false }: { readonly wasSent: boolean; readonly isReadOnly?: boolean },
): StepEnd {
  const facts = { wasSent, isReadOnly, isRepeatable: false, endedAt: clock() };
  return abortedEnd({ code: 'CANCELLED', tool }, facts);
}

/** Settles a call in doubt by the rule of its step, or by a person: it has ended, or it is sent again. */
async function settleDoubt(
  context: RunContext,
  sending: StepSending,
  known: BegunCall | undefined,
): Promise<{ readonly end: StepEnd } | Pick<StepSending, 'path' | 'call' | 'send'>> {
  const { path, call, send } = sending;
  const again = { path, call, send: send + 1 };
  const needsPerson = known?.isInDoubt || known?.resolution !== undefined || call.onInDoubt === 'ask';
  const mayRepeat = call.onInDoubt === 'retry' && send < MAX_SENDS;
  if (!needsPerson) return mayRepeat ? again : { end: unknownEnd(context, sending) };
  const resolution = known?.resolution ?? (await context.doubts.resolution(sending));
  if (!resolution) return { end: cancelled(context, sending, { wasSent: true }) };
  if (resolution.how === 'happened') return { end: happened(context, resolution) };
  return resolution.how === 'not-happened' || resolution.how === 'retry'
    ? again
    : { end: unknownEnd(context, sending) };
}

const happened = ({ writer, clock }: RunContext, { result }: Omit<RunResolution, 'path'>): StepEnd => ({
  ok: true,
  value: writer.store(resolvedResult(result)),
  isError: false,
  server: '',
  latencyMs: 0,
  endedAt: clock(),
});

const unknownEnd = ({ clock }: RunContext, { call, send }: StepSending): StepEnd => ({
  ok: false,
  error: {
    code: 'OUTCOME_UNKNOWN',
    message: `It is unknown whether the call of ${call.tool} happened. It was ${send === 1 ? 'not repeated' : `sent ${send} times`}.`,
    fix: 'Check the system that the tool acts on before you run it again.',
  },
  mayHaveActed: true,
  isRetryable: false,
  endedAt: clock(),
});
