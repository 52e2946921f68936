const JITTER = 0.25;

/** How long to wait before an attempt: longer each time, and never the same for all who lost the same server. */
export function backoffMs(delayMs: number, attempt: number, random: () => number): number {
  return Math.round(delayMs * attempt * (1 - JITTER + 2 * JITTER * random()));
}
