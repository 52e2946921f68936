import { abortable } from './abortable.ts';
import type { Answers, Call, Handler, Question, Result } from './call.ts';
import { UpstreamError } from './errors.ts';

export type Questions = Readonly<Record<string, Question>>;
export type Complete = Extract<Result, { readonly kind: 'complete' }>;

/** Puts questions to the user, in the words of a face. Throwing ends the call. */
export type AskUser = (questions: Questions, server: string, signal: AbortSignal) => Promise<Answers>;

export interface RoundsOptions {
  readonly ask: AskUser;
  /** Waits before a server that only asked for patience is asked again. */
  readonly pause?: (ms: number) => Promise<void>;
}

const MAX_ROUNDS = 8;
const PATIENCE_MS = 250;
const pauseFor = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Calls, asks the user whatever the server asks, and goes on with the answers, until the call is complete. */
export async function throughRounds(dispatch: Handler, call: Call, options: RoundsOptions): Promise<Complete> {
  const { ask, pause = pauseFor } = options;
  // When we leave early, whatever waits for the next answer must not wait until its time is over.
  const leaving = new AbortController();
  const signal = AbortSignal.any([call.signal, leaving.signal]);
  let round: Call = { ...call, signal };
  try {
    for (let rounds = 1; rounds <= MAX_ROUNDS; rounds++) {
      const result = await dispatch(round);
      if (result.kind === 'complete') return result;
      const { questions, next } = result;
      const isPatience = Object.keys(questions).length === 0;
      if (isPatience) await pause(PATIENCE_MS);
      const answers = isPatience ? {} : await abortable(ask(questions, next.server, signal), signal);
      round = { ...call, signal, from: next, ...(!isPatience && { answers }) };
    }
    throw tooManyRounds(call);
  } catch (thrown) {
    leaving.abort();
    throw thrown;
  }
}

const tooManyRounds = ({ name }: Call) =>
  new UpstreamError('UPSTREAM_FAILED', `${name} asked ${MAX_ROUNDS} times and still wants to know more.`, {
    delivered: 'maybe',
    fix: 'Look whether the call has had effects; give it what it asks for as arguments, if it takes them.',
  });
