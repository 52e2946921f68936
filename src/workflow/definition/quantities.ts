import { refuse, type SourceField } from './field.ts';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const DURATION = /^(\d{1,12}(?:\.\d{1,3})?)(ms|s|m|h|d)$/;
const SIZES: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
const SIZE = /^(\d{1,12})(B|KiB|MiB|GiB)$/;

/** The longest duration in a definition: 30 days. */
export const MAX_DURATION_MS = 30 * 86_400_000;

/** A duration such as `500ms`, `20s`, `30m`, `1h` or `2d`, in milliseconds. */
export const durationField = (about: string, mostMs = MAX_DURATION_MS): SourceField<number> => ({
  schema: { type: 'string', pattern: DURATION.source, description: `${about} For example \`20s\`.` },
  read(at) {
    const [, amount, unit = ''] = typeof at.value === 'string' ? (DURATION.exec(at.value) ?? []) : [];
    if (amount === undefined) return refuse(at, 'a duration such as `500ms`, `20s`, `30m`, `1h` or `2d`');
    const ms = Math.round(Number(amount) * (UNITS[unit] ?? 1));
    return ms >= 1 && ms <= mostMs ? ms : refuse(at, `a duration from 1ms to ${describeDuration(mostMs)}`);
  },
});

/** Writes milliseconds with the largest unit that divides them. */
export function describeDuration(ms: number): string {
  const [unit, size] = Object.entries(UNITS).findLast(([, one]) => ms % one === 0) ?? ['ms', 1];
  return `${ms / size}${unit}`;
}

/** A size such as `64MiB`, in bytes. */
export const sizeField = (about: string, mostBytes: number): SourceField<number> => ({
  schema: { type: 'string', pattern: SIZE.source, description: `${about} For example \`64MiB\`.` },
  read(at) {
    const [, amount, unit = ''] = typeof at.value === 'string' ? (SIZE.exec(at.value) ?? []) : [];
    const bytes = Number(amount) * (SIZES[unit] ?? 1);
    if (amount === undefined) return refuse(at, 'a size such as `512KiB` or `64MiB`');
    return bytes >= 1 && bytes <= mostBytes ? bytes : refuse(at, `a size up to ${mostBytes / 1024 ** 2}MiB`);
  },
});
