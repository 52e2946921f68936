import type { Call, Target } from '../core/call.ts';
import type { Catalog } from './catalog.ts';
import { findEvenHidden } from './find.ts';

interface Subject {
  readonly name: string;
  readonly server?: string;
}

/** Returns the public name of a call's target, and its server unless it is a pool. */
export function subjectOf(catalog: Catalog, call: Call, visible: (target: Target) => boolean): Subject | undefined {
  // A public name has one meaning, also if it is hidden.
  const target = findOnly(catalog, call, (found) => found.publicName === call.name || visible(found));
  if (!target) return undefined;
  const { publicName, servers } = target;
  return servers.length === 1 ? { name: publicName, server: servers[0] } : { name: publicName };
}

function findOnly(catalog: Catalog, call: Call, visible: (target: Target) => boolean): Target | undefined {
  try {
    return findEvenHidden(catalog, call, visible);
  } catch {
    return undefined; // The name is ambiguous.
  }
}
