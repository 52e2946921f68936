import { userInfo } from 'node:os';
import type { Caller } from '../core/call.ts';

/** Returns the user of this terminal as caller. A user who can run `heddle` has the role `owner`. */
export const localCaller = (): Caller => ({ id: `local:${userName()}`, roles: ['owner'], via: 'cli' });

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown'); // In a container the user id may have no name.
  }
}
