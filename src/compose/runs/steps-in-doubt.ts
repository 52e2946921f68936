import type { JsonObject } from '../../core/call.ts';
import type { StepInDoubt } from '../../core/records/run.ts';
import type { AuditLog } from '../../store/audit-log.ts';
import type { RunJournal, StoredRun } from '../../store/run-journal.ts';
import { type RunEntry, toRunEntry } from '../../workflow/journal/entries.ts';

export interface DoubtParts {
  readonly journal: Pick<RunJournal, 'entries'>;
  readonly audit: Pick<AuditLog, 'search'>;
}

type Doubt = Extract<RunEntry, { readonly kind: 'doubt' }>;
const MAX_RECORDS = 20;

/** Returns the calls of a run that a person has to settle, with their audit records. */
export async function doubtsOf(run: StoredRun, { journal, audit }: DoubtParts): Promise<readonly StepInDoubt[]> {
  if (run.status !== 'in_doubt') return [];
  const open = new Map<string, Doubt>();
  for (const entry of (await journal.entries(run.id)).map(toRunEntry)) {
    if (entry.kind === 'doubt') open.set(entry.path, entry);
    if (entry.kind === 'resolved' || entry.kind === 'finished') open.delete(entry.path);
  }
  return Promise.all(
    [...open.values()].map(async ({ path, at, detail: { tool, callId } }) => {
      const records = await audit.search({ callId, since: run.startedAt, limit: MAX_RECORDS });
      // The doubt itself is written when a later process resumes the run.
      const { at: since } = records.find(({ phase }) => phase === 'intent') ?? { at };
      return { path, tool, callId, since, records: records as unknown as readonly JsonObject[] };
    }),
  );
}
