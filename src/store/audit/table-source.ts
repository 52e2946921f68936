import { sql } from '../statements.ts';
import { type AuditTable, idsOf, type ReadRange, readAudit, type StoredRow } from './read-audit.ts';
import type { ChainSource } from './verify-chains.ts';

const ANCHORS = { sql: ` AND (sequence = 1 OR phase = 'checkpoint')`, values: [] };

/** Returns the records of a database for their verification. Records written meanwhile are left out. */
export function tableSource(table: AuditTable, signal?: AbortSignal): ChainSource {
  let ids: ReturnType<typeof idsOf> | undefined;
  async function* read(also: Pick<ReadRange, 'also'>): AsyncGenerator<readonly StoredRow[]> {
    signal?.throwIfAborted();
    ids ??= idsOf(table);
    const { last: through } = await ids;
    for await (const rows of readAudit(table, {}, { order: 'written', through, ...also })) {
      signal?.throwIfAborted();
      yield rows;
    }
  }
  const hasCalls = async () => (await table.read(sql`SELECT 1 FROM ${{ raw: table.schema }}.spans LIMIT 1`)).length > 0;
  return { anchors: () => read({ also: ANCHORS }), all: () => read({}), hasCalls };
}
