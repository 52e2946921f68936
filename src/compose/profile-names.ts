import type { Catalog } from '../catalog/catalog.ts';
import { type BareNames, bareNames } from '../catalog/entries/bare-names.ts';
import { hasUri } from '../catalog/find.ts';
import { type ListOptions, listAllTargets } from '../catalog/list.ts';
import { neededSignIn, type Resolve, unknownName, type Wanted } from '../catalog/resolve.ts';
import { capabilitiesKey } from '../core/call/client-capabilities.ts';
import type { Caller, CatalogKind, Target } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import type { Finding } from '../core/records/finding.ts';
import type { Page } from '../core/records/listing.ts';
import type { Heddle } from '../heddle.ts';
import type { ActiveConfig } from './active-config.ts';

export interface ProfileNamesOptions extends Pick<ListOptions, 'catalog' | 'servers' | 'visible' | 'serverVisible'> {
  readonly active: () => ActiveConfig;
  /** Starts the servers never seen. */
  readonly discover: (caller: Caller, signal: AbortSignal) => Promise<void>;
}

/** The bare names of profiles with `naming: bare`. */
export interface ProfileNames {
  resolving(resolve: Resolve): Resolve;
  browsing(catalog: Heddle['catalog']): Heddle['catalog'];
}

interface ProfileNamings {
  readonly activeConfig: ActiveConfig;
  readonly kinds: Map<CatalogKind, Naming>;
}

interface Naming {
  readonly names: BareNames;
  readonly nameOf: ReadonlyMap<Target, string>;
}

/** Lists and resolves bare names for callers of profiles with `naming: bare`. */
export function profileNames(options: ProfileNamesOptions): ProfileNames {
  const { catalog, visible, active, discover } = options;
  // Keyed by catalog: callers with private connections have their own.
  const byCatalog = new WeakMap<Catalog, Map<string, ProfileNamings>>();

  /** Returns undefined if the public names apply. */
  function namingFor(caller: Caller, kind: CatalogKind): Naming | undefined {
    const { profile } = caller;
    if (profile === undefined || active().policy.profiles?.get(profile)?.naming !== 'bare') return undefined;
    if (kind !== 'tool' && kind !== 'prompt') return undefined;
    const id = `${capabilitiesKey(caller.capabilities)} ${profile}`; // Callers with more capabilities may see more entries.
    const current = catalog.current(caller);
    const byProfile = byCatalog.get(current) ?? new Map<string, ProfileNamings>();
    byCatalog.set(current, byProfile);
    const before = byProfile.get(id);
    const known = before?.activeConfig === active() ? before : { activeConfig: active(), kinds: new Map() };
    byProfile.set(id, known);
    const naming = known.kinds.get(kind) ?? namingOf(current, kind, (target) => visible(caller, target));
    known.kinds.set(kind, naming);
    return naming;
  }

  const pages = new WeakMap<Naming, WeakMap<Page<Target>, Page<Target>>>();

  function renamed(page: Page<Target>, naming: Naming): Page<Target> {
    const known = pages.get(naming) ?? new WeakMap<Page<Target>, Page<Target>>();
    pages.set(naming, known);
    const same = known.get(page) ?? { ...page, items: page.items.map((target) => aliased(target, naming)) };
    known.set(page, same);
    return same;
  }

  return {
    resolving(resolve) {
      async function resolveNamed(call: Wanted): Promise<Target> {
        const meant = () => namingFor(call.caller, kindOf(call))?.names.byName.get(call.name);
        const ownNames = () => [...(namingFor(call.caller, kindOf(call))?.names.byName.keys() ?? [])];
        const resolveTarget = (target: Target | undefined) =>
          resolve(target ? { ...call, name: target.publicName } : call);
        if (meant()) return resolveTarget(meant());
        try {
          return await resolve(call);
        } catch (thrown) {
          if (HeddleError.from(thrown).code !== 'NAME_UNKNOWN') throw thrown;
          await discover(call.caller, call.signal); // A bare name does not identify its server.
          const target = meant();
          // Suggests only names of this profile.
          if (!target) throw neededSignIn(options, call.caller) ?? unknownName(call, ownNames());
          return resolveTarget(target);
        }
      }

      return (call) => (namingFor(call.caller, kindOf(call)) ? resolveNamed(call) : resolve(call));
    },
    browsing: (browsed) => ({
      ...browsed,
      async list(by, query) {
        const page = await browsed.list(by, query);
        const naming = namingFor(by, query.kind ?? 'tool');
        return naming ? renamed(page, naming) : page;
      },
    }),
  };
}

const kindOf = (call: Wanted): CatalogKind => (hasUri(call) ? 'resource' : call.kind === 'tool' ? 'tool' : 'prompt');

function namingOf(catalog: Catalog, kind: CatalogKind, visible: (target: Target) => boolean): Naming {
  const names = bareNames(listAllTargets(catalog, kind).filter(visible));
  return { names, nameOf: new Map([...names.byName].map(([name, target]) => [target, name])) };
}

const aliases = new WeakMap<Target, Target>();

/** Returns the target under its bare name. The same alias object is reused while the name stays. */
function aliased(target: Target, { nameOf }: Naming): Target {
  const publicName = nameOf.get(target) ?? target.publicName;
  if (publicName === target.publicName) return target;
  const known = aliases.get(target);
  if (known?.publicName === publicName) return known;
  // Copies getters, not their values, so that lazy members stay lazy.
  const members = { ...Object.getOwnPropertyDescriptors(target), publicName: { value: publicName, enumerable: true } };
  const alias = Object.defineProperties({}, members) as Target;
  aliases.set(target, alias);
  return alias;
}

/** Returns the doctor's findings about entries that have no bare name in a profile. */
export function examineProfiles({ policy, decide }: ActiveConfig, catalog: Catalog): readonly Finding[] {
  return [...(policy.profiles ?? [])].flatMap(([name, { naming }]) => {
    if (naming !== 'bare') return [];
    const by: Caller = { id: 'doctor', roles: [], via: 'cli', profile: name };
    const visible = (target: Target) => decide(by, target).effect !== 'deny';
    const problems = (['tool', 'prompt'] as const).flatMap((kind) => namingOf(catalog, kind, visible).names.problems);
    return problems.map((message): Finding => {
      return { level: 'warn', subject: `profile ${name}`, message, fix: 'Exclude one of them, or rename it.' };
    });
  });
}
