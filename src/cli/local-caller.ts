import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import type { Caller, ClientCapabilities } from '../core/call.ts';
import type { HeddleOptions } from '../open-heddle.ts';

/** The session of every call of this command. */
const session = randomUUID();

/** Returns the user of this terminal as caller. A user who can run `heddle` has the role `owner`. */
export const localCaller = (): Caller => ({ id: `local:${userName()}`, roles: ['owner'], via: 'cli', session });

/** The capabilities of the terminal. Declared without one, too: the server then gets a decline, and the user the reason. */
export const TERMINAL_CAPABILITIES: ClientCapabilities = {
  form: true,
  url: true,
  sampling: false,
  samplingTools: false,
  roots: false,
};

/** Returns the sole user of the Heddle of a command: what one command lists, another can call. */
export const terminalUser = (): NonNullable<HeddleOptions['user']> => ({
  principal: localCaller().id,
  capabilities: TERMINAL_CAPABILITIES,
});

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown'); // In a container the user id may have no name.
  }
}
