import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { ada } from '../core/fixtures.ts';
import type { AuditRecord } from '../store/audit-log.ts';
import { type AccessOptions, access } from './access.ts';

verifies('G11', 'cuts the name of a refused request in its record: callers send names of any length', () => {
  const records: AuditRecord[] = [];
  const audit = { append: (record: AuditRecord) => void records.push(record) };
  const options = { store: { audit }, clock: () => 0 } as unknown as AccessOptions;
  access(options).refused(ada, { callId: 'c', name: 'x'.repeat(100_000), reason: 'The state is not valid.' });
  expect(records[0]?.name).toHaveLength(256);
});
