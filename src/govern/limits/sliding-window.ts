import type { RateLimit } from '../../core/call/facts.ts';

/** Calls at almost the same time. They leave the window together, with the last of them. */
export interface Slot {
  readonly since: number;
  until: number;
  calls: number;
}

/** The calls of one key in the time before now. */
export interface SlidingWindow {
  readonly slots: Slot[];
  calls: number;
}

/** A limit above this is counted in as many slots, so that its memory does not grow with the limit. */
const MAX_SLOTS = 128;

export const emptyWindow = (): SlidingWindow => ({ slots: [], calls: 0 });

/** Removes calls that are older than the window. */
export function dropOld(window: SlidingWindow, { windowMs }: RateLimit, now: number): void {
  const { slots } = window;
  for (let oldest = slots[0]; oldest && now - oldest.until >= windowMs; oldest = slots[0]) {
    window.calls -= oldest.calls;
    slots.shift();
  }
}

/** Takes a counted call out again. A slot that has left the window is over. */
export function uncountCall(window: SlidingWindow, slot: Slot): void {
  const at = window.slots.lastIndexOf(slot);
  if (at < 0) return;
  window.calls--;
  slot.calls--;
  if (slot.calls === 0) window.slots.splice(at, 1);
}

/** Counts a call and returns its slot. In no period of `windowMs` there are more than `maxCalls`, if each call is checked first. */
export function countCall(window: SlidingWindow, limit: RateLimit, now: number): Slot {
  const { slots } = window;
  const spacingMs = limit.maxCalls > MAX_SLOTS ? limit.windowMs / MAX_SLOTS : 0;
  const newest = slots.at(-1);
  if (newest && now - newest.since < spacingMs) {
    newest.until = now;
    newest.calls++;
    window.calls++;
    return newest;
  }
  const slot = { since: now, until: now, calls: 1 };
  slots.push(slot);
  window.calls++;
  return slot;
}

/** Returns the time until a call fits, or 0. */
export function waitFor({ slots, calls }: SlidingWindow, { maxCalls, windowMs }: RateLimit, now: number): number {
  let left = calls;
  let wait = 0;
  for (const slot of slots) {
    if (left < maxCalls) return wait;
    left -= slot.calls;
    wait = slot.until + windowMs - now;
  }
  return left < maxCalls ? wait : Math.max(wait, windowMs);
}
