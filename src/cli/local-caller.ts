import { userInfo } from 'node:os';
import type { Caller } from '../core/call.ts';

/** The person at this terminal: whoever can run this command owns this Heddle. */
export const localCaller = (): Caller => ({ id: `local:${userName()}`, roles: ['owner'], via: 'cli' });

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown'); // A container may run as a user that has no name.
  }
}
