import { HeddleError } from '../../core/errors.ts';
import { readDuration } from './read-duration.ts';

const DATE = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/;

/** Parses a time: a duration before now such as `7d`, or a date such as `2026-11-17` (UTC). Throws USAGE_INVALID. */
export function readTime(name: string, text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{4}-/.test(text)) return now - readDuration(name, text);
  const time = DATE.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw new HeddleError('USAGE_INVALID', `--${name} has to be a duration or a date, not ${text}.`, {
    fix: 'Write for example 7d, 2026-11-17 or 2026-11-17T08:30:00Z.',
  });
}
