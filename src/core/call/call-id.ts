import type { Clock } from '../time.ts';

let lastTime = Number.NaN;
let lastWritten = '';

/** Returns a UUID of version 7. Later ids sort later, so the store writes them in order. */
export function newCallId(clock: Clock = Date.now): string {
  return `${timePart(clock())}-7${crypto.randomUUID().slice(15)}`;
}

/** Formats the time part. It is cached, since many calls share a millisecond under load. */
function timePart(time: number): string {
  if (time === lastTime) return lastWritten;
  const digits = time.toString(16).padStart(12, '0');
  lastTime = time;
  lastWritten = `${digits.slice(0, 8)}-${digits.slice(8)}`;
  return lastWritten;
}
