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
import { HeddleError, UpstreamError } from '../errors.ts';
import { isObject } from '../json.ts';
import type { Clock } from '../time.ts';
import { isTaskPoll, MAX_TASK_MS } from './task.ts';

export type InputRequests = Readonly<Record<string, InputRequest>>;
export type CompleteResult = Extract<Result, { readonly kind: 'complete' }>;

/** Puts questions to the user, in the words of a face. Throwing ends the call. */
export type AskUser = (questions: InputRequests, server: string, signal: AbortSignal) => Promise<InputResponses>;

export interface RunToCompletionOptions {
  readonly ask: AskUser;
  /** What the call is of: it decides whether a call that was given up may have changed something. */
  readonly describe: (call: Call) => Promise<Target>;
  /** Waits before a server is asked again that only asked for patience; an abort ends the wait. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly clock?: Clock;
}

const MAX_CONTINUATIONS = 8;
const PATIENCE_MS = 250;
const CANCEL_MS = 1000;
const MAX_MISHAPS = 3;
const INVALID_PARAMS = -32602; // Like in wire/mcp.ts, which core does not import.
const FAILURES: readonly string[] = ['UPSTREAM_FAILED', 'UPSTREAM_TIMEOUT', 'UPSTREAM_UNREACHABLE'];

/**
 * Calls, asks the user whatever the server asks, and goes on with the answers, until the call is complete. A server
 * that goes on by itself is asked again and again; whoever leaves meanwhile tells it to stop.
 */
export async function runToCompletion(
  dispatch: Handler,
  call: Call,
  options: RunToCompletionOptions,
): Promise<CompleteResult> {
  // When we leave early, whatever waits for the next answer must not wait until its time is over.
  const leaving = new AbortController();
  const signal = AbortSignal.any([call.signal, leaving.signal]);
  const standing: Standing = { round: { ...call, signal } };
  try {
    return await untilComplete(dispatch, standing.round, { ...options, standing });
  } catch (thrown) {
    leaving.abort();
    const { round } = standing;
    const { continuation: next } = round;
    if (next?.kind !== 'task' || hasEnded(thrown)) throw thrown;
    if (isTaskPoll(round) && isUnknown(thrown)) throw await orUnknown(lost(call, thrown), options, { call, next });
    await stop(dispatch, call, next);
    throw thrown;
  }
}

/** How a round ends that is not the last: with questions, or with none yet. */
interface Unfinished {
  readonly inputRequests?: InputRequests;
  readonly continuation: Continuation;
  readonly withdrawn?: AbortSignal;
}

/** Where a call has come to: the round that runs, or is about to. */
interface Standing {
  round: Call;
}

async function untilComplete(
  dispatch: Handler,
  call: Call,
  options: RunToCompletionOptions & { readonly standing: Standing },
): Promise<CompleteResult> {
  const { ask, standing } = options;
  const waiting = poller(call, options);
  // The acknowledgement of an answer may come before the task shows that it has it.
  const answered = new Set<string>();
  for (let rounds = 0; rounds < MAX_CONTINUATIONS; ) {
    const result = await waiting.lookedAt(dispatch, standing.round);
    if (result.kind === 'complete') return result;
    const { continuation } = result;
    const questions = unanswered(result, answered);
    const keys = Object.keys(questions);
    if (keys.length > 0 || continuation.kind !== 'task') rounds++;
    standing.round = { ...call, continuation };
    if (keys.length === 0) await waiting.pause(continuation);
    else {
      const answers = await answersTo(questions, result, { ask, signal: call.signal });
      if (answers) standing.round = { ...standing.round, inputResponses: answers };
      for (const key of keys) answered.add(key);
      waiting.begin();
    }
  }
  throw await orUnknown(tooManyContinuations(call), options, { call, next: standing.round.continuation });
}

/** What the user says; nothing when the server no longer wants to know, and goes on without. */
async function answersTo(
  questions: InputRequests,
  { continuation: { server }, withdrawn: over }: Unfinished,
  { ask, signal }: Pick<RunToCompletionOptions, 'ask'> & { readonly signal: AbortSignal },
): Promise<InputResponses | undefined> {
  if (!over) return abortable(ask(questions, server, signal), signal);
  if (over.aborted) return undefined;
  const either = AbortSignal.any([signal, over]);
  try {
    return await abortable(ask(questions, server, either), either);
  } catch (thrown) {
    if (over.aborted && !signal.aborted) return undefined;
    throw thrown;
  }
}

/**
 * Waits before a server is asked again, and does not mind when it cannot be asked for a moment; throws once one that
 * goes on by itself has taken too long.
 */
function poller(call: Call, options: RunToCompletionOptions) {
  const { signal } = call;
  const { pause = pauseFor, clock = () => performance.now() } = options;
  const { timeoutMs: longestMs = MAX_TASK_MS } = call.options;
  let until = clock() + longestMs;
  let failed = 0;
  async function pauseBefore(next: Continuation): Promise<void> {
    if (next.kind !== 'task') return abortable(pause(PATIENCE_MS, signal), signal);
    if (clock() + next.pollMs > until) throw await orUnknown(tooLong(call, longestMs), options, { call, next });
    return abortable(pause(next.pollMs, signal), signal);
  }
  return {
    async lookedAt(dispatch: Handler, round: Call): Promise<Result> {
      for (;;) {
        try {
          const result = await dispatch(round);
          failed = 0;
          return result;
        } catch (thrown) {
          const { continuation: next } = round;
          if (!next || !isTaskPoll(round) || !isFailure(thrown)) throw thrown;
          // What it has said it would say again.
          const isMishap = thrown.details.answered !== true && ++failed <= MAX_MISHAPS;
          if (!isMishap) throw await orUnknown(thrown, options, { call, next });
          await pauseBefore(next);
        }
      }
    },
    /** The time begins anew: a person was asked in between. */
    begin(): void {
      until = clock() + longestMs;
    },
    pause: pauseBefore,
  };
}

const isFailure = (thrown: unknown): thrown is UpstreamError =>
  thrown instanceof UpstreamError && FAILURES.includes(thrown.code);

/** What the user is to be asked: of a task, a key means one question for as long as the task lives. */
function unanswered(result: Unfinished, answered: ReadonlySet<string>): InputRequests {
  const { inputRequests = {}, continuation } = result;
  if (continuation.kind !== 'task' || answered.size === 0) return inputRequests;
  return Object.fromEntries(Object.entries(inputRequests).filter(([key]) => !answered.has(key)));
}

/** Whether an error is how a task ended, and not that it could not be asked. */
const hasEnded = (thrown: unknown) => isRefusal(thrown) && thrown.details.task !== undefined;
const isRefusal = (thrown: unknown): thrown is HeddleError =>
  HeddleError.is(thrown) && thrown.code === 'UPSTREAM_REFUSED';

/** How a server says that it has no such task; one that knows no tasks at all says nothing of its own. */
function isUnknown(thrown: unknown): thrown is HeddleError {
  if (!isRefusal(thrown)) return false;
  const { rpc } = thrown.details;
  return !isObject(rpc) || rpc.code === INVALID_PARAMS;
}

/** Tells a server to stop what nobody waits for any more. Whether it does is its own business. */
async function stop(dispatch: Handler, call: Call, { server, taskId, pollMs }: TaskContinuation): Promise<void> {
  const from = { kind: 'task', server, taskId, pollMs, cancels: true } as const;
  const signal = AbortSignal.timeout(CANCEL_MS);
  const { onProgress: _, log: __, ...rest } = call;
  await abortable(dispatch({ ...rest, signal, continuation: from }), signal).catch(() => {});
}

function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const hurry = () => {
    clearTimeout(timer);
    resolve();
  };
  signal.addEventListener('abort', hurry, { once: true });
  return promise.finally(() => signal.removeEventListener('abort', hurry));
}

interface GivenUp {
  readonly call: Call;
  readonly next: Continuation | undefined;
}

/** Only tools change anything; what cannot be shown to be harmless may have. */
async function orUnknown(failed: UpstreamError, { describe }: RunToCompletionOptions, { call, next }: GivenUp) {
  if (call.kind !== 'tool') return failed;
  const target = await abortable(describe(call), call.signal).catch(() => undefined);
  if (target !== undefined && (target.facts.readOnly || target.facts.idempotent)) return failed;
  return new HeddleError('OUTCOME_UNKNOWN', `${failed.message} It may have happened or not; it was not repeated.`, {
    cause: failed,
    details: { server: next?.server, because: failed.code },
  });
}

const tooManyContinuations = ({ name }: Call) =>
  new UpstreamError('UPSTREAM_FAILED', `${name} asked ${MAX_CONTINUATIONS} times and still wants to know more.`, {
    delivered: 'maybe',
    fix: 'Look whether the call has had effects; give it what it asks for as arguments, if it takes them.',
  });
const tooLong = ({ name }: Call, longestMs: number) =>
  new UpstreamError('UPSTREAM_TIMEOUT', `${name} was not done within ${longestMs} ms, and was told to stop.`, {
    delivered: 'maybe',
  });
const lost = ({ name }: Call, cause: HeddleError) =>
  new UpstreamError('UPSTREAM_FAILED', `The server no longer knows the task of ${name}: ${cause.message}`, {
    delivered: 'maybe',
    cause,
    fix: 'Look whether the call has had effects, then call again.',
  });
