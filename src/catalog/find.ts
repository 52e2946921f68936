import type { Call, Target } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { quoteName } from '../core/text/visible-text.ts';
import type { Catalog, NameIndex, Resources } from './catalog.ts';
import { ownUri } from './entries/own-uri.ts';

type Wanted = Pick<Call, 'kind' | 'name'> & Partial<Pick<Call, 'input' | 'options'>>;
type Visible = (target: Target) => boolean;

/** Returns true if the call names its target by a URI. */
export const hasUri = ({ kind, input }: Wanted): boolean =>
  kind === 'resource' || kind === 'subscription' || (kind === 'completion' && refersToResource(input));

const refersToResource = (input: Call['input'] = {}) => isObject(input.ref) && input.ref.type === 'ref/resource';

/** Returns the index of a kind of entries. A completion without a resource reference is for a prompt. */
export const nameIndexOf = (catalog: Catalog, { kind }: Wanted): NameIndex =>
  kind === 'tool' ? catalog : catalog.prompts;

/** Finds the target of a call among the entries that its caller may see. Throws NAME_AMBIGUOUS. */
export function findIn(catalog: Catalog, wanted: Wanted, visible: Visible): Target | undefined {
  if (!hasUri(wanted)) return findNamed(nameIndexOf(catalog, wanted), wanted.name, visible);
  if (wanted.kind === 'completion') return theOne(wanted, catalog.resources.named(wanted.name).filter(visible));
  return findResource(catalog.resources, wanted, visible);
}

function findNamed(index: NameIndex, name: string, visible: Visible): Target | undefined {
  const exact = index.find(name);
  if (exact) return visible(exact) ? exact : undefined;
  const candidates = index.called(name).filter(visible);
  if (candidates.length > 1)
    throw ambiguous(
      name,
      candidates.map((target) => index.spellings(target)[0]),
    );
  return candidates[0];
}

/** Finds the server that lists a URI, else one whose template matches. With several servers it throws NAME_AMBIGUOUS. */
function findResource(resources: Resources, wanted: Wanted, visible: Visible): Target | undefined {
  const byServer = new Map<string, Target>();
  for (const [at, meant] of [...resources.meanings(wanted.name)].entries()) {
    const seen = meant.filter((target) => target.invalid === undefined && visible(target));
    const isListed = at === 0;
    if (isListed && seen.length > 0) return theOne(wanted, seen);
    for (const target of seen) if (!byServer.has(target.servers[0])) byServer.set(target.servers[0], target);
  }
  return theOne(wanted, [...byServer.values()]);
}

/** Returns the only target, or that of the preferred server. Throws NAME_AMBIGUOUS otherwise. */
function theOne({ name, options }: Wanted, [first, ...others]: readonly Target[]): Target | undefined {
  if (!first || others.length === 0) return first;
  const all = [first, ...others];
  const preferred = all.find(({ servers }) => servers[0] === options?.preferredServer);
  if (preferred) return preferred;
  throw ambiguous(
    name,
    all.map(({ servers: [server] }) => ownUri(server, name)),
  );
}

function ambiguous(name: string, candidates: readonly string[]): HeddleError {
  return new HeddleError('NAME_AMBIGUOUS', `${name} may be any of these: ${candidates.map(quoteName).join(', ')}.`, {
    fix: `Write one of them, for example ${quoteName(candidates[0] ?? '')}.`,
    details: { candidates },
  });
}
