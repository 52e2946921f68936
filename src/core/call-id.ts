import type { Clock } from './clock.ts';

/** A UUID of version 7: ids made later sort later, so that what is stored by them is written in order. */
export function newCallId(clock: Clock = Date.now): string {
  const time = clock().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
}
