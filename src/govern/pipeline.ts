import { type Call, compose, type DecidedCall, type Handler, type ResolvedCall } from '../core/call.ts';
import type { Stages } from './stages.ts';

export interface Pipeline extends Stages {
  /** Looks the name up. Returns synchronously if no server has to be started. */
  readonly resolve: (call: Call) => ResolvedCall | Promise<ResolvedCall>;
  readonly invoke: Handler<DecidedCall>;
}

/**
 * Builds `dispatch`, the only way to a server: three rings of stages with `resolve` and `permit` between them. The outer
 * ring sees every attempt, unknown names included. The resolved ring sees only entries that the caller may see.
 */
export function pipeline({ outer, resolve, resolved, permit, decided, invoke }: Pipeline): Handler {
  const afterPermit = compose(decided, invoke);
  const afterResolve = compose(resolved, (call) => {
    try {
      return afterPermit(permit(call));
    } catch (thrown) {
      return Promise.reject(thrown);
    }
  });
  return compose(outer, (call) => {
    try {
      const found = resolve(call);
      return found instanceof Promise ? found.then(afterResolve) : afterResolve(found);
    } catch (thrown) {
      return Promise.reject(thrown);
    }
  });
}
