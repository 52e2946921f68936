import { newCallId } from '../../core/call/call-id.ts';
import { requireRole } from '../../core/call/caller.ts';
import type { Caller, JsonObject } from '../../core/call.ts';
import type { AuditHead, AuditSearch } from '../../core/records/audit-entry.ts';
import type { Clock } from '../../core/time.ts';
import type { AuditApi } from '../../heddle.ts';
import type { AuditLog } from '../../store/audit-log.ts';
import { recordIn } from '../audited-change.ts';

export interface AuditApiOptions {
  readonly audit: AuditLog;
  readonly clock: Clock;
}

/** Returns the audit part of Heddle. Reading the log shows calls of others, so each read leaves a record, too. */
export function auditApi({ audit, clock }: AuditApiOptions): AuditApi {
  const recordOf = recordIn({ area: 'audit', audit, clock });
  const record = (by: Caller, action: string, detail: JsonObject) =>
    audit.append({ ...recordOf(by, action, newCallId()), phase: 'outcome', detail });
  const requireReader = (by: Caller) => requireRole(by, ['owner', 'auditor']);
  const causeOf = ({ id, via }: Caller) => ({ callId: newCallId(), caller: id, via });

  return {
    async *search(by, query, signal) {
      requireReader(by);
      let records = 0;
      try {
        for await (const batch of audit.read(query, { signal })) {
          records += batch.length;
          yield batch;
        }
      } finally {
        record(by, 'search', { query: shownQuery(query), records }); // Written afterwards, so that it does not find itself.
      }
    },
    async *export(by, query, signal) {
      requireReader(by);
      const cause = causeOf(by);
      const detail = { export: shownQuery(query) };
      const place = (await audit.checkpoint({ ...cause, always: true, detail })) as AuditHead;
      const { since: from, ...conditions } = query;
      const start = from === undefined ? {} : { from };
      for await (const batch of audit.read(conditions, { order: 'written', ...start, signal })) {
        const end = batch.findIndex(({ hash }) => hash === place.hash);
        yield end < 0 ? batch : batch.slice(0, end + 1);
        if (end >= 0) return; // Records written meanwhile belong to a later export.
      }
      // The conditions left the checkpoint out. It says that the export is not complete.
      yield* audit.read({ callId: cause.callId, phase: 'checkpoint' }, { order: 'written', signal });
    },
    async verify(by, options) {
      requireReader(by);
      const found = await audit.verify(options);
      const { records, segments, faultCount: faults } = found;
      record(by, 'verify', { records, segments, faults, ...(options.file !== undefined && { export: true }) });
      return found;
    },
    async head(by) {
      requireReader(by);
      return (await audit.checkpoint({ ...causeOf(by), always: true })) as AuditHead;
    },
    async prune(by, before) {
      requireRole(by, ['owner']);
      const cause = causeOf(by);
      await audit.appendDurably({ ...recordOf(by, 'prune', cause.callId), phase: 'intent', detail: { before } });
      return audit.prune(before, cause);
    },
  };
}

/** Returns a query for the log. A searched text may be a secret, so only the fact that there was one is shown. */
function shownQuery({ text, detail, limit: _, ...fields }: AuditSearch): JsonObject {
  const paths = Object.keys(detail ?? {});
  return { ...fields, ...(text !== undefined && { text: true }), ...(paths.length > 0 && { detail: paths }) };
}
