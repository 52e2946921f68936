import type { Caller, ClientCapabilities } from '../../core/call.ts';
import type { Heddle } from '../../heddle.ts';
import type { InSession } from '../request-context.ts';
import { narrowExtensions, withCapabilities } from './client-capabilities.ts';

/** The notification of a legacy client that its roots have changed. */
export const ROOTS_CHANGED = 'notifications/roots/list_changed';

interface ClientWithRoots {
  readonly caller: Caller;
  readonly capabilities?: ClientCapabilities | undefined;
  readonly inSession: InSession;
}

/** Notifies the servers that a session has called of the changed roots, if its client declared `roots.listChanged`. */
export function passRootsChange(
  { servers, catalog }: Pick<Heddle, 'servers' | 'catalog'>,
  { caller, capabilities: declared, inSession }: ClientWithRoots,
): void {
  const capabilities = narrowExtensions(declared, catalog);
  if (capabilities?.rootsListChanged) servers.rootsChanged(inSession(withCapabilities(caller, capabilities, 'legacy')));
}
