import { HeddleError } from '../../core/errors.ts';
import type { AuditSearch } from '../../core/records/audit-entry.ts';
import type { Input, Option } from '../command.ts';
import { readTime } from '../input/read-time.ts';

/** The options that choose records. */
export const QUERY_OPTIONS: Readonly<Record<'since' | 'until' | 'text', Option>> = {
  since: { type: 'string', value: 'TIME', help: 'From this time on: 24h, 7d or 2026-11-17' },
  until: { type: 'string', value: 'TIME', help: 'Up to this time' },
  text: { type: 'string', value: 'TEXT', help: 'With this text anywhere in the record' },
};

const COLUMNS = ['callId', 'caller', 'name', 'phase', 'via'] as const;
type ColumnName = (typeof COLUMNS)[number];
const isColumn = (name: string): name is ColumnName => (COLUMNS as readonly string[]).includes(name);

/** Reads the conditions: `field=value` for any recorded field, and the options. Throws USAGE_INVALID. */
export function readQuery(words: readonly string[], input: Input, now: number = Date.now()): AuditSearch {
  const columns: Partial<Record<ColumnName, string>> = {};
  const detail: Record<string, string> = {};
  for (const word of words) {
    const at = word.indexOf('=');
    if (at < 1) throw notACondition(word);
    const [field, value] = [word.slice(0, at), word.slice(at + 1)];
    if (isColumn(field)) columns[field] = value;
    else detail[field.replace(/^detail\./, '')] = value;
  }
  const [since, until] = [readTime('since', input.text('since'), now), readTime('until', input.text('until'), now)];
  const text = input.text('text');
  return {
    ...columns,
    ...(Object.keys(detail).length > 0 && { detail }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(text !== undefined && { text }),
  };
}

const notACondition = (word: string) =>
  new HeddleError('USAGE_INVALID', `${word} is no condition: it has no \`=\`.`, {
    fix: 'Write field=value, such as caller=key:ci or outcome=PERMISSION_DENIED; --text finds any text.',
  });
