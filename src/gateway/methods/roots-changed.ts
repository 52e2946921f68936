import type { Caller, ClientCapabilities } from '../../core/call.ts';
import type { Heddle } from '../../heddle.ts';
import type { InSession } from '../request-context.ts';
import { withCapabilities } from './client-capabilities.ts';

/** The notification of a legacy client that its roots have changed. */
export const ROOTS_CHANGED = 'notifications/roots/list_changed';

interface ClientWithRoots {
  readonly caller: Caller;
  readonly capabilities?: ClientCapabilities | undefined;
  readonly inSession: InSession;
}

/** Tells the servers that a session has called that the roots of its client have changed, if the client declared `roots.listChanged`. */
export function passRootsChange(
  { servers }: Pick<Heddle, 'servers'>,
  { caller, capabilities, inSession }: ClientWithRoots,
): void {
  if (capabilities?.rootsListChanged) servers.rootsChanged(inSession(withCapabilities(caller, capabilities, 'legacy')));
}
