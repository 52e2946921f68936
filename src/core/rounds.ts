import { abortable } from './abortable.ts';
import type { Answers, Call, Handler, Question, Result, Target } from './call.ts';
import { HeddleError, UpstreamError } from './errors.ts';

export type Questions = Readonly<Record<string, Question>>;
export type Complete = Extract<Result, { readonly kind: 'complete' }>;

/** Puts questions to the user, in the words of a face. Throwing ends the call. */
export type AskUser = (questions: Questions, server: string, signal: AbortSignal) => Promise<Answers>;

export interface RoundsOptions {
  readonly ask: AskUser;
  /** What the call is of: it decides whether a call that was given up may have changed something. */
  readonly describe: (call: Call) => Promise<Target>;
  /** Waits before a server that only asked for patience is asked again. */
  readonly pause?: (ms: number) => Promise<void>;
}

const MAX_ROUNDS = 8;
const PATIENCE_MS = 250;
const pauseFor = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Calls, asks the user whatever the server asks, and goes on with the answers, until the call is complete. */
export async function throughRounds(dispatch: Handler, call: Call, options: RoundsOptions): Promise<Complete> {
  const { ask, describe, pause = pauseFor } = options;
  // When we leave early, whatever waits for the next answer must not wait until its time is over.
  const leaving = new AbortController();
  const signal = AbortSignal.any([call.signal, leaving.signal]);
  let round: Call = { ...call, signal };
  let server = '';
  // Only tools change anything; what cannot be shown to be harmless may have.
  const isHarmless = async () => {
    if (call.kind !== 'tool') return true;
    const target = await abortable(describe(call), signal).catch(() => undefined);
    return target !== undefined && (target.facts.readOnly || target.facts.idempotent);
  };
  try {
    for (let rounds = 1; rounds <= MAX_ROUNDS; rounds++) {
      const result = await dispatch(round);
      if (result.kind === 'complete') return result;
      const { questions, next } = result;
      server = next.server;
      const isPatience = Object.keys(questions).length === 0;
      if (isPatience) await pause(PATIENCE_MS);
      const answers = isPatience ? {} : await abortable(ask(questions, next.server, signal), signal);
      round = { ...call, signal, from: next, ...(!isPatience && { answers }) };
    }
    throw tooManyRounds(call, server, await isHarmless());
  } catch (thrown) {
    leaving.abort();
    throw thrown;
  }
}

function tooManyRounds({ name }: Call, server: string, isHarmless: boolean): HeddleError {
  const message = `${name} asked ${MAX_ROUNDS} times and still wants to know more.`;
  const failed = new UpstreamError('UPSTREAM_FAILED', message, {
    delivered: 'maybe',
    fix: 'Look whether the call has had effects; give it what it asks for as arguments, if it takes them.',
  });
  if (isHarmless) return failed;
  return new HeddleError('OUTCOME_UNKNOWN', `${message} It may have happened or not; it was not repeated.`, {
    cause: failed,
    details: { server, because: failed.code },
  });
}
