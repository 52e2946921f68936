import { HeddleError } from '../../core/errors.ts';

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/**
 * Parses a duration such as `300ms`, `90s`, `30m`, `24h`, `7d` or `2w` into milliseconds. Every option with a duration takes
 * these units. Throws USAGE_INVALID.
 */
export function readDuration(name: string, text: string): number {
  const [, count, unit = ''] = /^(\d{1,7})(ms|[smhdw])$/.exec(text) ?? [];
  if (count !== undefined) return Number(count) * (UNITS[unit] as number);
  throw new HeddleError('USAGE_INVALID', `--${name} has to be a duration, not ${text}.`, {
    fix: 'Write for example 300ms, 90s, 30m, 24h, 7d or 2w.',
  });
}
