import { hash } from 'node:crypto';
import { isTaskCancel, isTaskPoll } from '../core/call/task.ts';
import type { DecidedCall, Handler, Result, Stage } from '../core/call.ts';
import type { Clock } from '../core/time.ts';
import type { AuditLog, AuditRecord } from '../store/audit-log.ts';
import { isSelfApproved } from './permit.ts';
import { sanitised } from './sanitise.ts';

const digest = (value: object) => hash('sha256', JSON.stringify(value));

/**
 * Writes the opening audit record with the decision and its rule. A call to a target that is not read-only waits until
 * the record is durable; if it cannot be written, the call is refused.
 */
export function recordIntent(log: AuditLog, clock: Clock = Date.now): Stage<DecidedCall> {
  function recordOf(call: DecidedCall): () => AuditRecord {
    const { target, caller, input, inputResponses, meta, extraParams } = call;
    const { effect, rule } = call.decision;
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
        // A continuation of a task sends no arguments: the server has them.
        ...(call.continuation?.kind !== 'task' && { input: digest(input), arguments: sanitised(input) }),
        ...(inputResponses && { inputResponses: digest(inputResponses) }),
        ...(Object.keys(meta).length > 0 && { meta: digest(meta), _meta: sanitised(meta) }),
        ...(extraParams && { extraParams: digest(extraParams), parameters: sanitised(extraParams) }),
        roles: caller.roles,
        ...(caller.profile !== undefined && { profile: caller.profile }),
        ...(call.continuation && { continuation: call.continuation.kind }),
        ...(isTaskCancel(call) && { cancels: true }),
      },
    });
  }

  async function recorded(call: DecidedCall, next: Handler<DecidedCall>): Promise<Result> {
    await log.appendDurably(recordOf(call));
    return await next(call);
  }

  return function recordIntent(call, next) {
    // The call that began the task was recorded; a poll changes nothing.
    if (isTaskPoll(call)) return next(call);
    if (!call.target.facts.readOnly) return recorded(call, next);
    log.append(recordOf(call)()); // Built at once: an in-process server could change the arguments before the write.
    return next(call);
  };
}
