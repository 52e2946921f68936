import { hash } from 'node:crypto';
import { isTaskCancel } from '../core/call/task.ts';
import type { DecidedCall, JsonObject } from '../core/call.ts';
import type { AuditRecord } from '../store/audit-log.ts';
import { sanitised } from './sanitise.ts';

const digest = (value: object) => hash('sha256', JSON.stringify(value));

/** Returns a function that builds the opening record of a call. `more` is added to its details. */
export function openingRecord(call: DecidedCall, at: number, more?: JsonObject): () => AuditRecord {
  const { target, caller, input, inputResponses, meta, extraParams } = call;
  const { effect, rule, shadow, taint } = call.decision;
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
      decision: effect,
      rule,
      ...(shadow && { shadow: shadow.map((verdict) => ({ ...verdict })) }),
      ...(taint && { taint }),
      // A continuation of a task sends no arguments: the server has them.
      ...(call.continuation?.kind !== 'task' && { input: digest(input), arguments: sanitised(input) }),
      ...(inputResponses && { inputResponses: digest(inputResponses) }),
      ...(Object.keys(meta).length > 0 && { meta: digest(meta), _meta: sanitised(meta) }),
      ...(extraParams && { extraParams: digest(extraParams), parameters: sanitised(extraParams) }),
      roles: caller.roles,
      ...(caller.profile !== undefined && { profile: caller.profile }),
      ...(caller.agent !== undefined && { agent: caller.agent }),
      ...(call.continuation && { continuation: call.continuation.kind }),
      ...(isTaskCancel(call) && { cancels: true }),
      ...more,
    },
  });
}
