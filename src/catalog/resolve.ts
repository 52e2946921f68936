import type { Call, Caller, ResolvedCall, Target } from '../core/call.ts';
import { closest } from '../core/did-you-mean.ts';
import { HeddleError } from '../core/errors.ts';
import type { Servers } from '../upstream/servers.ts';
import type { LiveCatalog } from './refresh.ts';

export interface ResolveOptions {
  readonly catalog: LiveCatalog;
  readonly servers: Servers;
  /** Makes known what is not known yet, waiting no longer than a person would. */
  readonly discover: (caller: Caller, signal: AbortSignal) => Promise<void>;
  readonly visible: (caller: Caller, target: Target) => boolean;
  readonly serverVisible: (caller: Caller, server: string) => boolean;
}

export type Resolve = (call: Pick<Call, 'name' | 'caller' | 'signal'>) => Promise<Target>;

/**
 * Looks a name up, starting the server it belongs to when that is needed. What
 * does not exist and what the caller may not see give the same error.
 */
export function resolver(options: ResolveOptions): Resolve {
  const { catalog, servers, visible, serverVisible } = options;

  const clearest = (target: Target) => catalog.current().spellings(target)[0];

  function find({ name, caller }: Pick<Call, 'name' | 'caller'>): Target | undefined {
    const exact = catalog.current().find(name);
    if (exact) return visible(caller, exact) ? exact : undefined;
    const called = catalog.current().called(name);
    const candidates = called.filter((target) => visible(caller, target));
    if (candidates.length > 1) throw ambiguous(name, candidates.map(clearest));
    return candidates[0];
  }

  return async function resolve(call) {
    const { name, caller, signal } = call;
    const known = find(call);
    if (known?.servers.some((server) => servers.connected(server))) return known;

    const owners = known?.servers ?? serversIn(name, servers).filter((server) => serverVisible(caller, server));
    const failure = await startOneOf(owners, servers, signal);
    if (owners.length === 0 && isTypedByPerson(caller)) await options.discover(caller, signal);
    const found = find(call);
    if (found && failure) throw failure;
    if (found) return found;
    throw failure && !known
      ? failure
      : unknownName(
          name,
          visibleNames(catalog, (target) => visible(caller, target)),
        );
  };
}

/** The call with its target: the one place where the one becomes the other. */
export function withTarget(call: Call, target: Target): ResolvedCall {
  return { ...call, target };
}

/** Why none of them could be started; undefined when one is there. */
async function startOneOf(names: readonly string[], servers: Servers, signal: AbortSignal): Promise<unknown> {
  let failure: unknown;
  for (const server of names) {
    try {
      await servers.connect(server, signal);
      return undefined;
    } catch (thrown) {
      failure ??= thrown;
    }
  }
  return failure;
}

/** Which server a name belongs to when its tools are not known yet: the longest name that fits. */
function serversIn(name: string, servers: Servers): readonly string[] {
  const fits = (server: string) => name.startsWith(`mcp__${server}__`) || name.startsWith(`${server}.`);
  const names = servers.status().map(({ name }) => name);
  const [longest] = names.filter(fits).sort((a, b) => b.length - a.length);
  return longest === undefined ? [] : [longest];
}

// A program has the names it was given; a person may know no more than the tool's own.
const isTypedByPerson = (caller: Caller) => caller.via === 'cli' || caller.via === 'library';

function visibleNames(catalog: LiveCatalog, visible: (target: Target) => boolean): readonly string[] {
  const { targets, spellings } = catalog.current();
  return targets.filter(visible).flatMap(spellings);
}

function unknownName(name: string, names: readonly string[]): HeddleError {
  const guess = closest(name, names);
  return new HeddleError('NAME_UNKNOWN', `Nothing is named ${name}.`, guess ? { fix: `Did you mean ${guess}?` } : {});
}

function ambiguous(name: string, candidates: readonly string[]): HeddleError {
  return new HeddleError('NAME_AMBIGUOUS', `${name} is the name of more than one tool: ${candidates.join(', ')}.`, {
    fix: `Write one of them, for example ${candidates[0]}.`,
    details: { candidates },
  });
}
