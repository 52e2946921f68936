import type { Finding } from '../core/records/finding.ts';
import type { TraceLog } from '../store/trace-log.ts';

const SINCE_MS = 7 * 24 * 3_600_000;
const MAX_NAMES = 5;

/** Names the tools whose results did not match their output schema in the last 7 days. */
export async function examineOutputs(traces: Pick<TraceLog, 'stats'>, now: number): Promise<readonly Finding[]> {
  const found = (await traces.stats(now - SINCE_MS)).filter(({ outputMismatches }) => outputMismatches > 0);
  if (found.length === 0) return [];
  const names = found.slice(0, MAX_NAMES).map(({ name, outputMismatches }) => `${name} (${outputMismatches})`);
  const more = found.length > MAX_NAMES ? ` and ${found.length - MAX_NAMES} more` : '';
  return [
    {
      level: 'warn',
      subject: 'output schemas',
      message: `Results of the last 7 days did not match the output schema of ${names.join(', ')}${more}.`,
      fix: 'Tell the maintainer of the server, or set its `outputCheck` to `refuse` or `off`.',
      facts: { tools: found.map(({ name, outputMismatches }) => ({ name, outputMismatches })) },
    },
  ];
}
