import { type Call, compose, type Handler, type ResolvedCall, type Stage } from '../core/call.ts';

export interface Pipeline {
  /** Sees every attempt, including names that do not exist. */
  readonly outer: readonly Stage<Call>[];
  /** At once where nothing has to be started for it. */
  readonly resolve: (call: Call) => ResolvedCall | Promise<ResolvedCall>;
  /** Sees only calls to things that exist and that the caller may see. */
  readonly inner: readonly Stage<ResolvedCall>[];
  readonly invoke: Handler<ResolvedCall>;
}

/** Two rings and the step between them: the only way to a server. */
export function pipeline({ outer, resolve, inner, invoke }: Pipeline): Handler {
  const governed = compose(inner, invoke);
  return compose(outer, (call) => {
    try {
      const found = resolve(call);
      return found instanceof Promise ? found.then(governed) : governed(found);
    } catch (thrown) {
      return Promise.reject(thrown);
    }
  });
}
