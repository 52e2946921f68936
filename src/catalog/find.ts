import type { Call, Target } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import type { Catalog, NameIndex, Resources } from './catalog.ts';
import { ownUri } from './entries/own-uri.ts';

type Sought = Pick<Call, 'kind' | 'name'> & Partial<Pick<Call, 'input' | 'options'>>;
type Visible = (target: Target) => boolean;

/** Whether what is called is named by a URI. */
export const hasUri = ({ kind, input }: Sought): boolean =>
  kind === 'resource' || kind === 'subscription' || (kind === 'completion' && refersToResource(input));

const refersToResource = (input: Call['input'] = {}) => isObject(input.ref) && input.ref.type === 'ref/resource';

/** Where things of this kind have their names; a completion that is not of a resource is of a prompt. */
export const nameIndexOf = (catalog: Catalog, { kind }: Sought): NameIndex =>
  kind === 'tool' ? catalog : catalog.prompts;

/** What a call is of, among what its caller may see. Throws NAME_AMBIGUOUS. */
export function findIn(catalog: Catalog, sought: Sought, visible: Visible): Target | undefined {
  if (!hasUri(sought)) return findNamed(nameIndexOf(catalog, sought), sought.name, visible);
  if (sought.kind === 'completion') return theOne(sought, catalog.resources.named(sought.name).filter(visible));
  return findResource(catalog.resources, sought, visible);
}

function findNamed(shelf: NameIndex, name: string, visible: Visible): Target | undefined {
  const exact = shelf.find(name);
  if (exact) return visible(exact) ? exact : undefined;
  const candidates = shelf.called(name).filter(visible);
  if (candidates.length > 1)
    throw ambiguous(
      name,
      candidates.map((target) => shelf.spellings(target)[0]),
    );
  return candidates[0];
}

/** Who lists the URI has it; else whose templates fit. Of several servers none is guessed: any could take reads from another. */
function findResource(resources: Resources, sought: Sought, visible: Visible): Target | undefined {
  const byServer = new Map<string, Target>();
  for (const [at, meant] of [...resources.meanings(sought.name)].entries()) {
    const seen = meant.filter((target) => target.invalid === undefined && visible(target));
    const isListed = at === 0;
    if (isListed && seen.length > 0) return theOne(sought, seen);
    for (const target of seen) if (!byServer.has(target.servers[0])) byServer.set(target.servers[0], target);
  }
  return theOne(sought, [...byServer.values()]);
}

/** Of several that nothing else tells apart, the one of the server that was asked for. */
function theOne({ name, options }: Sought, [first, ...others]: readonly Target[]): Target | undefined {
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
  return new HeddleError('NAME_AMBIGUOUS', `${name} may be any of these: ${candidates.join(', ')}.`, {
    fix: `Write one of them, for example ${candidates[0]}.`,
    details: { candidates },
  });
}
