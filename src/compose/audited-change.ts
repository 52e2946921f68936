import { newCallId } from '../core/call/call-id.ts';
import type { Caller, JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import type { Clock } from '../core/time.ts';
import type { AuditLog } from '../store/audit-log.ts';

export interface AuditedArea {
  /** The area of administration, such as `servers`: the first part of the record's name. */
  readonly area: string;
  readonly audit: AuditLog;
  readonly clock: Clock;
}

/** A change of the administration. `server` of its detail is in both records. */
export interface AuditedChange {
  readonly action: string;
  readonly detail: JsonObject;
}

/** Returns the common fields of an audit record. */
export const recordIn =
  ({ area, clock }: AuditedArea) =>
  (by: Caller, action: string, callId = '') => ({
    callId,
    at: clock(),
    caller: by.id,
    via: by.via,
    name: `${area}.${action}`,
  });

/** Returns a function that runs a change between two audit records: a durable intent before it, the outcome after it. */
export function auditedChanges(options: AuditedArea) {
  const { audit } = options;
  const recordOf = recordIn(options);
  return async function change<T>(by: Caller, { action, detail }: AuditedChange, act: () => Promise<T>): Promise<T> {
    const id = newCallId();
    await audit.appendDurably({ ...recordOf(by, action, id), phase: 'intent', detail });
    const end = (outcome: string) =>
      audit.append({ ...recordOf(by, action, id), phase: 'outcome', detail: { server: detail.server, outcome } });
    let result: T;
    try {
      result = await act();
    } catch (thrown) {
      end(HeddleError.from(thrown).code);
      throw thrown;
    }
    end('ok');
    return result;
  };
}
