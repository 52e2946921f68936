import type { Call, Target } from '../core/call.ts';
import type { Catalog } from './catalog.ts';
import { findIn } from './find.ts';

interface Subject {
  readonly name: string;
  readonly server?: string;
}

/** Returns the public name of a call's target, and its server unless it is a pool. */
export function subjectOf(catalog: Catalog, call: Call): Subject | undefined {
  const target = findOnly(catalog, call);
  if (!target) return undefined;
  const { publicName, servers } = target;
  return servers.length === 1 ? { name: publicName, server: servers[0] } : { name: publicName };
}

function findOnly(catalog: Catalog, call: Call): Target | undefined {
  try {
    return findIn(catalog, call, () => true);
  } catch {
    return undefined; // The name is ambiguous.
  }
}
