import type { Caller, Target } from '../../core/call.ts';
import { HeddleError, triedAt } from '../../core/errors.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import type { Servers } from '../../upstream/servers.ts';
import type { Catalog } from '../catalog.ts';
import type { LiveCatalog } from '../live-catalog.ts';
import type { Wanted } from '../resolve.ts';
import type { ExtensionMethod, ExtensionMethods } from './extension-methods.ts';

export interface ResolveExtensionOptions {
  readonly catalog: LiveCatalog;
  readonly servers: Pick<Servers, 'connect' | 'connected'>;
  /** Returns the methods that the entries of the active configuration list. */
  readonly methods: () => ExtensionMethods;
  readonly visible: (caller: Caller, target: Target) => boolean;
  readonly serverVisible: (caller: Caller, server: string) => boolean;
}

/**
 * Returns the lookup of methods of extensions. A method of one visible server is found there; of several, at the one that
 * has the resource `params.uri` or the tool or prompt `params.name`. It connects servers that may have it, since their
 * tools decide on the method. Throws NAME_UNKNOWN or NAME_AMBIGUOUS.
 */
export function extensionResolver(options: ResolveExtensionOptions): (call: Wanted) => Target | Promise<Target> {
  const { catalog, servers, methods } = options;

  function candidates({ caller, name }: Wanted): readonly ExtensionMethod[] {
    const known = catalog.current(caller);
    return (methods().get(name) ?? []).filter(
      (one) => options.serverVisible(caller, one.server) && options.visible(caller, one.targetIn(known)),
    );
  }

  /** Returns the candidate that the call means. A rule may hide it now that the tools of its server are known. */
  function pick(call: Wanted, found: readonly ExtensionMethod[]): Target {
    if (found.length === 0) throw unknownMethod(call);
    const known = catalog.current(call.caller);
    const one = onlyOf(found, call) ?? namedIn(known, found, { call, visible: options.visible });
    return one.targetIn(known);
  }

  async function connect({ server }: ExtensionMethod, call: Wanted): Promise<void> {
    const startedAt = performance.now();
    try {
      await servers.connect(server, call.signal, call);
    } catch (thrown) {
      throw triedAt(thrown, server, performance.now() - startedAt);
    }
  }

  async function resolveAnew(call: Wanted, found: readonly ExtensionMethod[]): Promise<Target> {
    const only = onlyOf(found, call);
    if (only) await connect(only, call);
    // A server that cannot be connected has neither the resource nor the tool.
    else await Promise.allSettled(found.map((one) => connect(one, call)));
    return pick(call, candidates(call));
  }

  return function resolveExtension(call) {
    const found = candidates(call);
    const only = onlyOf(found, call);
    const isReady = (only ? [only] : found).every(({ server }) => servers.connected(server, call));
    return isReady ? pick(call, found) : resolveAnew(call, found);
  };
}

/** Returns the only candidate, or the one at the preferred server. */
const onlyOf = (found: readonly ExtensionMethod[], { options }: Wanted): ExtensionMethod | undefined =>
  found.length === 1 ? found[0] : found.find(({ server }) => server === options?.preferredServer);

interface Naming extends Pick<ResolveExtensionOptions, 'visible'> {
  readonly call: Wanted;
}

/** Returns the candidate at the only server that has what the params name. Throws NAME_AMBIGUOUS if it is not one. */
function namedIn(catalog: Catalog, found: readonly ExtensionMethod[], { call, visible }: Naming): ExtensionMethod {
  const { uri, name } = call.input ?? {};
  const isVisible = (target: Target) => visible(call.caller, target);
  const groups = [
    ...(typeof uri === 'string' ? catalog.resources.meanings(uri) : []),
    ...(typeof name === 'string' ? [toolsAndPrompts(catalog, name)] : []),
  ];
  for (const group of groups) {
    const servers = new Set(group.filter(isVisible).flatMap(({ servers }) => servers));
    const having = found.filter(({ server }) => servers.has(server));
    if (having.length === 1) return having[0] as ExtensionMethod;
    if (having.length > 1) break;
  }
  throw severalServers(
    call,
    found.map((one) => one.targetIn(catalog).publicName),
  );
}

function toolsAndPrompts(catalog: Catalog, name: string): readonly Target[] {
  return [catalog, catalog.prompts].flatMap((index) => {
    const exact = index.find(name);
    return exact ? [exact] : index.called(name);
  });
}

const severalServers = ({ name }: Wanted, candidates: readonly string[]) =>
  new HeddleError('NAME_AMBIGUOUS', `${name} may be any of these: ${candidates.map(quoteName).join(', ')}.`, {
    fix: `Call one of them, for example ${quoteName(candidates[0] ?? '')}, or name a resource or tool of one server.`,
    details: { candidates },
  });

/** Builds the error for a method that no visible server lists. A hidden one gives the same. */
const unknownMethod = ({ name }: Wanted) =>
  new HeddleError('NAME_UNKNOWN', `${name} is not supported.`, {
    fix: 'List it under `extensions` of the entry of its server.',
  });
