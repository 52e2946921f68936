import { abortable } from '../async/abortable.ts';
import type {
  Call,
  Continuation,
  Handler,
  InputRequest,
  InputResponses,
  Result,
  Target,
  TaskContinuation,
} from '../call.ts';
import { HeddleError, triedAt, UpstreamError } from '../errors.ts';
import { isObject } from '../json.ts';
import type { Clock } from '../time.ts';
import type { PendingApproval } from './approval.ts';
import { approvalPending } from './approval-pending.ts';
import { serverOf } from './continuation.ts';
import { REPEAT_FIX, repeatAdvice } from './repeatable.ts';
import { isTaskPoll, MAX_TASK_MS } from './task.ts';

export type InputRequests = Readonly<Record<string, InputRequest>>;
export type CompleteResult = Extract<Result, { readonly kind: 'complete' }>;

/** Shows input requests to the user, in the way of the front end. An error ends the call. */
export type AskUser = (inputRequests: InputRequests, server: string, signal: AbortSignal) => Promise<InputResponses>;

export interface RunToCompletionOptions {
  readonly ask: AskUser;
  /** Resolves once an approval is no longer pending. Without it the call fails with APPROVAL_PENDING. */
  readonly settled?: (approval: PendingApproval, signal: AbortSignal, call: Call) => Promise<unknown>;
  /** Looks up the target, which tells whether an abandoned call may have had effects. */
  readonly describe: (call: Call) => Promise<Target>;
  /** Waits before the next poll; an abort ends the wait. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly clock?: Clock;
  /** Receives each continuation before the wait for a task or a response. Another process can go on with it. */
  readonly onContinuation?: (continuation: Continuation) => Promise<void>;
}

/** The name under which Heddle itself asks for input: the form of an approval. */
const OWN_NAME = 'heddle';
const MAX_CONTINUATIONS = 8;
const POLL_MS = 250;
const CANCEL_MS = 1000;
const MAX_FAILED_POLLS = 3;
const INVALID_PARAMS = -32602; // Like in wire/mcp.ts, which core does not import.
const FAILURES: readonly string[] = ['UPSTREAM_FAILED', 'UPSTREAM_TIMEOUT', 'UPSTREAM_UNREACHABLE'];

/**
 * Dispatches a call and its continuations until it is complete. Input requests go to the user, and a task is polled. If
 * the caller cancels or the call fails, a running task is cancelled.
 */
export async function runToCompletion(
  dispatch: Handler,
  call: Call,
  options: RunToCompletionOptions,
): Promise<CompleteResult> {
  // Aborted on failure, so that a suspended call does not wait for its timeout.
  const failed = new AbortController();
  const signal = AbortSignal.any([call.signal, failed.signal]);
  const progress: CallProgress = { current: { ...call, signal } };
  const { clock = () => performance.now() } = options;
  const startedAt = clock();
  try {
    return await untilComplete(dispatch, progress.current, { ...options, progress });
  } catch (thrown) {
    failed.abort();
    const failure = await endTask(thrown, options, { dispatch, call, current: progress.current });
    const server = serverOf(progress.current.continuation);
    throw server === undefined ? failure : triedAt(failure, server, clock() - startedAt);
  }
}

interface FailedCall {
  readonly dispatch: Handler;
  readonly call: Call;
  /** The call or continuation that failed. */
  readonly current: Call;
}

/** Cancels the task of a failed call, if it has one that still runs. Returns the error of the call. */
async function endTask(
  thrown: unknown,
  options: RunToCompletionOptions,
  { dispatch, call, current }: FailedCall,
): Promise<unknown> {
  const { continuation: next } = current;
  if (next?.kind !== 'task' || hasEnded(thrown)) return thrown;
  if (isTaskPoll(current) && isUnknownTask(thrown)) {
    return toOutcomeUnknown(lost(call, thrown), options, { call, next });
  }
  await cancelTask(dispatch, call, next);
  return thrown;
}

/** A result that is not complete. */
interface Unfinished {
  readonly inputRequests?: InputRequests;
  readonly continuation: Continuation;
  readonly withdrawn?: AbortSignal;
}

/** The call or continuation that runs now or is dispatched next. */
interface CallProgress {
  current: Call;
}

async function untilComplete(
  dispatch: Handler,
  call: Call,
  options: RunToCompletionOptions & { readonly progress: CallProgress },
): Promise<CompleteResult> {
  const { ask, progress, onContinuation } = options;
  const polling = poller(call, options);
  // A task may list an input request again after its response was acknowledged.
  const answered = new Set<string>();
  for (let continuations = 0; continuations < MAX_CONTINUATIONS; ) {
    const result = await pastApprovals(() => polling.dispatchOrRetry(dispatch, progress.current), options);
    if (result.kind === 'complete') return result;
    const { continuation } = result;
    const inputRequests = unanswered(result, answered);
    const keys = Object.keys(inputRequests);
    if (keys.length > 0 || continuation.kind !== 'task') continuations++;
    progress.current = { ...call, continuation };
    await onContinuation?.(continuation);
    if (keys.length === 0) await polling.pause(continuation);
    else {
      const inputResponses = await responsesTo(inputRequests, result, { ask, signal: call.signal });
      if (inputResponses) progress.current = { ...progress.current, inputResponses };
      for (const key of keys) answered.add(key);
      polling.restartTimeout();
    }
  }
  throw await toOutcomeUnknown(tooManyContinuations(call), options, { call, next: progress.current.continuation });
}

/** Dispatches again after each wait for an approver. A wait uses no timeout and none of the continuations. */
async function pastApprovals(
  dispatch: () => Promise<Result>,
  { settled, progress }: RunToCompletionOptions & { readonly progress: CallProgress },
): Promise<Exclude<Result, { readonly kind: 'waiting' }>> {
  for (;;) {
    const result = await dispatch();
    if (result.kind !== 'waiting') return result;
    const { current } = progress;
    if (!settled) throw approvalPending(current, result.approval);
    await abortable(settled(result.approval, current.signal, current), current.signal);
    // A response counts once. Those of a first call must not decide; the approval keeps them for the server.
    const { inputResponses: _, ...call } = current;
    progress.current = { ...call, continuation: result.continuation };
  }
}

/** Returns the responses of the user; undefined if the server withdraws its requests meanwhile. */
async function responsesTo(
  inputRequests: InputRequests,
  { continuation, withdrawn }: Unfinished,
  { ask, signal }: Pick<RunToCompletionOptions, 'ask'> & { readonly signal: AbortSignal },
): Promise<InputResponses | undefined> {
  const server = serverOf(continuation) ?? OWN_NAME;
  if (!withdrawn) return abortable(ask(inputRequests, server, signal), signal);
  if (withdrawn.aborted) return undefined;
  const either = AbortSignal.any([signal, withdrawn]);
  try {
    return await abortable(ask(inputRequests, server, either), either);
  } catch (thrown) {
    if (withdrawn.aborted && !signal.aborted) return undefined;
    throw thrown;
  }
}

/** Waits between polls and tolerates three failed polls in a row. Throws UPSTREAM_TIMEOUT when a task takes too long. */
function poller(call: Call, options: RunToCompletionOptions) {
  const { signal } = call;
  const { pause = pauseFor, clock = () => performance.now() } = options;
  const { timeoutMs: longestMs = MAX_TASK_MS } = call.options;
  let deadline = clock() + longestMs;
  let failedPolls = 0;
  async function pauseBefore(next: Continuation): Promise<void> {
    if (next.kind !== 'task') return abortable(pause(POLL_MS, signal), signal);
    if (clock() + next.pollMs > deadline)
      throw await toOutcomeUnknown(tooLong(call, longestMs), options, { call, next });
    return abortable(pause(next.pollMs, signal), signal);
  }
  return {
    async dispatchOrRetry(dispatch: Handler, current: Call): Promise<Result> {
      for (;;) {
        try {
          const result = await dispatch(current);
          failedPolls = 0;
          return result;
        } catch (thrown) {
          const { continuation: next } = current;
          if (!next || !isTaskPoll(current) || !isFailure(thrown)) throw thrown;
          // A server that answered would answer the same again.
          const mayRetry = thrown.details.answered !== true && ++failedPolls <= MAX_FAILED_POLLS;
          if (!mayRetry) throw await toOutcomeUnknown(thrown, options, { call, next });
          await pauseBefore(next);
        }
      }
    },
    /** Starts the timeout of the task again, after the user has responded. */
    restartTimeout(): void {
      deadline = clock() + longestMs;
    },
    pause: pauseBefore,
  };
}

const isFailure = (thrown: unknown): thrown is UpstreamError =>
  thrown instanceof UpstreamError && FAILURES.includes(thrown.code);

/** Returns the input requests without a response. A task uses each key for one request only. */
function unanswered(result: Unfinished, answered: ReadonlySet<string>): InputRequests {
  const { inputRequests = {}, continuation } = result;
  if (continuation.kind !== 'task' || answered.size === 0) return inputRequests;
  return Object.fromEntries(Object.entries(inputRequests).filter(([key]) => !answered.has(key)));
}

/** Returns true if the error is the end of the task, and not a failed poll. */
const hasEnded = (thrown: unknown) => isRefusal(thrown) && thrown.details.task !== undefined;
const isRefusal = (thrown: unknown): thrown is HeddleError =>
  HeddleError.is(thrown) && thrown.code === 'UPSTREAM_REFUSED';

/** Returns true if the server does not know the task: it answered -32602, or it does not support tasks. */
function isUnknownTask(thrown: unknown): thrown is HeddleError {
  if (!isRefusal(thrown)) return false;
  const { rpc } = thrown.details;
  return !isObject(rpc) || rpc.code === INVALID_PARAMS;
}

/** Cancels the task of an abandoned call. Waits at most 1 s and ignores a failure. */
async function cancelTask(dispatch: Handler, call: Call, { server, taskId, pollMs }: TaskContinuation): Promise<void> {
  const continuation = { kind: 'task', server, taskId, pollMs, cancels: true } as const;
  const signal = AbortSignal.timeout(CANCEL_MS);
  const { onProgress: _, log: __, ...rest } = call;
  await abortable(dispatch({ ...rest, signal, continuation }), signal).catch(() => {});
}

function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const onAbort = () => {
    clearTimeout(timer);
    resolve();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  return promise.finally(() => signal.removeEventListener('abort', onAbort));
}

interface AbandonedCall {
  readonly call: Call;
  readonly next: Continuation | undefined;
}

/** Converts a failure to OUTCOME_UNKNOWN, unless the target is known to be read-only or idempotent. */
async function toOutcomeUnknown(
  failed: UpstreamError,
  { describe }: RunToCompletionOptions,
  { call, next }: AbandonedCall,
) {
  if (call.kind !== 'tool') return failed;
  const target = await abortable(describe(call), call.signal).catch(() => undefined);
  if (target !== undefined && (target.facts.readOnly || target.facts.idempotent)) return failed;
  const advice = target ? repeatAdvice(target) : '';
  const message = `${failed.message} It may have happened or not; it was not repeated.${advice}`;
  return new HeddleError('OUTCOME_UNKNOWN', message, {
    cause: failed,
    details: { server: serverOf(next), because: failed.code },
    ...(advice !== '' && { fix: REPEAT_FIX }),
  });
}

const tooManyContinuations = ({ name }: Call) =>
  new UpstreamError(
    'UPSTREAM_FAILED',
    `${name} requested input ${MAX_CONTINUATIONS} times and was still not complete.`,
    {
      delivered: 'maybe',
      fix: 'Check whether the call had effects; send the requested input as arguments if the tool accepts them.',
    },
  );
const tooLong = ({ name }: Call, longestMs: number) =>
  new UpstreamError('UPSTREAM_TIMEOUT', `${name} was not done within ${longestMs} ms and was cancelled.`, {
    delivered: 'maybe',
  });
const lost = ({ name }: Call, cause: HeddleError) =>
  new UpstreamError('UPSTREAM_FAILED', `The server no longer knows the task of ${name}: ${cause.message}`, {
    delivered: 'maybe',
    cause,
    fix: 'Check whether the call had effects, then call again.',
  });
