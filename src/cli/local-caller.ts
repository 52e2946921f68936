import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import type { Caller } from '../core/call.ts';

/** The session of every call of this command. */
const session = randomUUID();

/** Returns the user of this terminal as caller. A user who can run `heddle` has the role `owner`. */
export const localCaller = (): Caller => ({ id: `local:${userName()}`, roles: ['owner'], via: 'cli', session });

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown'); // In a container the user id may have no name.
  }
}
