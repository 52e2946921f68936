import { type Call, compose, type Handler, type ResolvedCall, type Stage } from '../core/call.ts';

export interface Pipeline {
  /** Sees every attempt, including names that do not exist. */
  readonly outer: readonly Stage<Call>[];
  readonly resolve: (call: Call) => Promise<ResolvedCall>;
  /** Sees only calls to things that exist and that the caller may see. */
  readonly inner: readonly Stage<ResolvedCall>[];
  readonly invoke: Handler<ResolvedCall>;
}

/** Two rings and the step between them: the only way to a server. */
export function pipeline({ outer, resolve, inner, invoke }: Pipeline): Handler {
  const governed = compose(inner, invoke);
  return compose(outer, async (call) => await governed(await resolve(call)));
}
