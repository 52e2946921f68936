import type { Clock } from '../time.ts';

let lastTime = Number.NaN;
let lastWritten = '';

/** A UUID of version 7: ids made later sort later, so that what is stored by them is written in order. */
export function newCallId(clock: Clock = Date.now): string {
  return `${written(clock())}-7${crypto.randomUUID().slice(15)}`;
}

/** Under load many calls share a millisecond. */
function written(time: number): string {
  if (time === lastTime) return lastWritten;
  const digits = time.toString(16).padStart(12, '0');
  lastTime = time;
  lastWritten = `${digits.slice(0, 8)}-${digits.slice(8)}`;
  return lastWritten;
}
