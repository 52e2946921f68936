import type { Call } from '../core/call.ts';
import type { Catalog } from './catalog.ts';

/** What a call is of, whichever way its name is written; of several servers that could answer, none is named. */
export function subjectOf(catalog: Catalog, { name }: Pick<Call, 'name'>): Subject | undefined {
  const exact = catalog.find(name);
  const [target, ...others] = exact ? [exact] : catalog.called(name);
  if (!target || others.length > 0) return undefined;
  const { publicName, servers } = target;
  return servers.length === 1 ? { name: publicName, server: servers[0] } : { name: publicName };
}

interface Subject {
  readonly name: string;
  readonly server?: string;
}
