import { hash } from 'node:crypto';
import { isTaskCancel, isTaskPoll } from '../core/call/task.ts';
import type { Handler, ResolvedCall, Result, Stage } from '../core/call.ts';
import type { Clock } from '../core/time.ts';
import type { AuditLog, AuditRecord } from '../store/audit-log.ts';
import type { Decide } from './decide.ts';
import { isSelfApproved } from './permit.ts';
import { sanitised } from './sanitise.ts';

const digest = (value: object) => hash('sha256', JSON.stringify(value));

/**
 * Writes what is about to happen, and on whose say. A call that may change
 * something waits until that is durable; when it cannot be, the call never happens.
 */
export function recordIntent(log: AuditLog, decide: Decide, clock: Clock = Date.now): Stage<ResolvedCall> {
  function recordOf(call: ResolvedCall): () => AuditRecord {
    const { target, caller, input, inputResponses, meta, extraParams } = call;
    const { effect, rule } = decide(caller, target, call);
    const decision = effect === 'ask' && isSelfApproved(call) ? 'self-approved' : effect;
    const at = clock();
    return () => ({
      callId: call.id,
      phase: 'intent',
      at,
      caller: caller.id,
      via: caller.via,
      name: target.publicName,
      detail: {
        ...(call.kind !== 'tool' && { kind: call.kind }),
        servers: target.servers,
        tool: target.digest,
        decision,
        rule,
        // A round of a task has no arguments: the server has had them.
        ...(call.continuation?.kind !== 'task' && { input: digest(input), arguments: sanitised(input) }),
        ...(inputResponses && { answers: digest(inputResponses) }),
        ...(Object.keys(meta).length > 0 && { meta: digest(meta), _meta: sanitised(meta) }),
        ...(extraParams && { beside: digest(extraParams), parameters: sanitised(extraParams) }),
        roles: caller.roles,
        ...(caller.profile !== undefined && { profile: caller.profile }),
        ...(call.continuation && { goesOn: call.continuation.kind }),
        ...(isTaskCancel(call) && { cancels: true }),
      },
    });
  }

  async function recorded(call: ResolvedCall, next: Handler<ResolvedCall>): Promise<Result> {
    await log.appendDurably(recordOf(call));
    return await next(call);
  }

  return function recordIntent(call, next) {
    // What goes on was written down when it began; a look decides nothing.
    if (isTaskPoll(call)) return next(call);
    if (!call.target.facts.readOnly) return recorded(call, next);
    log.append(recordOf(call)()); // Now: a server in this process could change what it was given before it is written.
    return next(call);
  };
}
