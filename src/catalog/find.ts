import type { Call, Target } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { isViewUri } from '../core/text/view-uri.ts';
import { quoteName } from '../core/text/visible-text.ts';
import type { Catalog, NameIndex, Resources } from './catalog.ts';
import { catalogEntryOf } from './entries/entry.ts';
import type { LiveCatalog } from './live-catalog.ts';
import { ownUri } from './views/own-uri.ts';

type Wanted = Pick<Call, 'kind' | 'name'> &
  Partial<Pick<Call, 'input' | 'options'>> & {
    /** The resources with this name that results have linked, besides those of the catalog. */
    readonly linked?: readonly Target[];
  };
type Visible = (target: Target) => boolean;

/** Returns true if the call names its target by a URI. */
export const hasUri = ({ kind, input }: Wanted): boolean =>
  kind === 'resource' || kind === 'subscription' || (kind === 'completion' && refersToResource(input));

const refersToResource = (input: Call['input'] = {}) => isObject(input.ref) && input.ref.type === 'ref/resource';

/** Adds the resources that results have linked to the caller, if the call names its target by a URI. */
export const withLinked = <C extends Wanted & Pick<Call, 'caller'>>(
  catalog: Pick<LiveCatalog, 'linked'>,
  call: C,
): C => (hasUri(call) ? { ...call, linked: catalog.linked(call) } : call);

/** Returns the index of a kind of entries. A completion without a resource reference is for a prompt. */
export const nameIndexOf = (catalog: Catalog, { kind }: Wanted): NameIndex =>
  kind === 'tool' ? catalog : catalog.prompts;

/**
 * Finds the target of a call among the entries that its caller may see, and the resources that results have linked.
 * Throws NAME_AMBIGUOUS.
 */
export const findIn = (catalog: Catalog, wanted: Wanted, visible: Visible): Target | undefined =>
  finderOf(catalog, wanted)(visible);

/** Finds the target of a call also if it is hidden from its caller. An entry that the caller sees comes first. */
export function findEvenHidden(catalog: Catalog, wanted: Wanted, visible: Visible): Target | undefined {
  const find = finderOf(catalog, wanted);
  return find(visible) ?? find(() => true);
}

type Find = (visible: Visible) => Target | undefined;

function finderOf(catalog: Catalog, wanted: Wanted): Find {
  if (!hasUri(wanted)) return (visible) => findNamed(nameIndexOf(catalog, wanted), wanted, visible);
  if (wanted.kind !== 'completion') return resourceFinder(catalog.resources, wanted);
  return (visible) => theOne(wanted, catalog.resources.named(wanted.name).filter(visible));
}

function findNamed(index: NameIndex, wanted: Wanted, visible: Visible): Target | undefined {
  const { name } = wanted;
  const exact = index.find(name);
  if (exact) return visible(exact) ? exact : undefined;
  const candidates = index.called(name).filter(visible);
  if (candidates.length < 2) return candidates[0];
  const meant = meantByBareName(wanted, candidates);
  if (meant) return meant;
  throw ambiguous(
    name,
    candidates.map((target) => index.spellings(target)[0]),
  );
}

/**
 * Returns the entry at the preferred server, else that of the server with the highest priority, if it is the only one.
 * A pool has no priority of its own. Beside one, only the preferred server decides.
 */
function meantByBareName({ name, options }: Wanted, candidates: readonly Target[]): Target | undefined {
  if (candidates.some(({ shownAs }) => shownAs !== name)) return undefined;
  const isPool = ({ servers }: Target) => servers.length > 1;
  const preferred = candidates.filter((one) => !isPool(one) && one.servers[0] === options?.preferredServer);
  if (preferred.length > 0) return onlyOne(preferred);
  if (candidates.some(isPool)) return undefined;
  const highest = Math.max(...candidates.map(priorityOf));
  return onlyOne(candidates.filter((target) => priorityOf(target) === highest));
}

const priorityOf = (target: Target) => catalogEntryOf(target).tool.priority;
const onlyOne = <T>(found: readonly T[]): T | undefined => (found.length === 1 ? found[0] : undefined);

/**
 * Finds the server that lists a URI, else one whose template matches. Simple variables match slashes only if no template
 * matches otherwise. A link of another server is as good as a template. With several servers it throws NAME_AMBIGUOUS.
 * Each template is matched once for all searches.
 */
function resourceFinder(resources: Resources, wanted: Wanted): Find {
  const [listed = [], ...made] = resources.meanings(wanted.name);
  let slashed: readonly (readonly Target[])[] | undefined;
  const withSlashes = () => {
    slashed ??= [...resources.meaningsWithSlashes(wanted.name)];
    return slashed;
  };
  return (visible) => {
    const isUsable = (target: Target) => target.invalid === undefined && visible(target);
    const linked = (wanted.linked ?? []).filter(isUsable);
    const seen = listed.filter(isUsable);
    // The URI of a view that a server lists is not that of a link, unless the server came later.
    if (seen.length > 0) return theOne(wanted, isViewUri(wanted.name) ? firstOfEach([...seen, ...linked]) : seen);
    const matched = made.flat().filter(isUsable);
    const all = matched.length > 0 ? matched : withSlashes().flat().filter(isUsable);
    return theOne(wanted, firstOfEach([...all, ...linked]));
  };
}

/** Returns the first target of each server. */
function firstOfEach(targets: readonly Target[]): readonly Target[] {
  const byServer = new Map<string, Target>();
  for (const target of targets) if (!byServer.has(target.servers[0])) byServer.set(target.servers[0], target);
  return [...byServer.values()];
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
