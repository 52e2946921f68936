import type { Call, Caller, ResolvedCall, Target } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { closest } from '../core/text/did-you-mean.ts';
import { whyAmbiguous } from '../core/text/uri-form.ts';
import type { Servers } from '../upstream/servers.ts';
import { serverAndUri } from './entries/own-uri.ts';
import { findIn, hasUri, nameIndexOf } from './find.ts';
import type { LiveCatalog } from './live-catalog.ts';

export interface ResolveOptions {
  readonly catalog: LiveCatalog;
  readonly servers: Servers;
  /** Makes known what is not known yet, waiting no longer than a person would. */
  readonly discover: (caller: Caller, signal: AbortSignal) => Promise<void>;
  readonly visible: (caller: Caller, target: Target) => boolean;
  readonly serverVisible: (caller: Caller, server: string) => boolean;
}

/** As much of a call as says what it is of. */
export type Wanted = Pick<Call, 'kind' | 'name' | 'caller' | 'signal'> & Partial<Pick<Call, 'input' | 'options'>>;

/** At once where nothing has to be started for it. */
export type Resolve = (call: Wanted) => Target | Promise<Target>;

/**
 * Looks a name up, starting the server it belongs to when that is needed. What
 * does not exist and what the caller may not see give the same error.
 */
export function resolver(options: ResolveOptions): Resolve {
  const { catalog, servers, visible, serverVisible } = options;
  const find = (call: Wanted) => findIn(catalog.current(call.caller), call, (target) => visible(call.caller, target));

  /** Starts who may have what is called; gives back why that failed. */
  async function start(call: Wanted, known: Target | undefined): Promise<unknown> {
    const { caller, signal } = call;
    const owners = known?.servers ?? serversIn(call, servers).filter((server) => serverVisible(caller, server));
    if (owners.length > 0) return startOneOf(owners, servers, signal);
    // A program has the names it was given; a person may know no more than the tool's own, and a URI names no server.
    if (hasUri(call) || isTypedByPerson(caller)) await options.discover(caller, signal);
    return undefined;
  }

  /** What everybody sees has no such name: what the caller alone is shown may. */
  async function findMore(call: Wanted): Promise<Target | undefined> {
    const { caller, signal } = call;
    const [server] = serversIn(call, servers);
    if (!caller.capabilities || server === undefined || call.kind !== 'tool' || !serverVisible(caller, server))
      return undefined;
    await servers.discoverTools(server, { caller, capabilities: caller.capabilities }, signal).catch(() => {}); // Then there is no more.
    return find(call);
  }

  async function resolveAnew(call: Wanted, known: Target | undefined): Promise<Target> {
    const failure = await start(call, known);
    const found = find(call) ?? (failure ? undefined : await findMore(call));
    if (failure && (found || !known)) throw failure;
    if (found) return found;
    throw hasUri(call) ? unknownResource(call.name) : unknownName(call, visibleNames(catalog, call, visible));
  }

  return function resolve(call) {
    const known = find(call);
    return known?.servers.some((server) => servers.connected(server)) ? known : resolveAnew(call, known);
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

/** Which server a name belongs to when what it has is not known yet: the longest name that fits. A URI may be anybody's. */
function serversIn(call: Wanted, servers: Servers): readonly string[] {
  const { name } = call;
  const names = servers.status().map(({ name }) => name);
  if (hasUri(call)) return names.filter((server) => server === serverAndUri(name)?.server);
  const fits = (server: string) => name.startsWith(`mcp__${server}__`) || name.startsWith(`${server}.`);
  const [longest] = names.filter(fits).sort((a, b) => b.length - a.length);
  return longest === undefined ? [] : [longest];
}

const isTypedByPerson = (caller: Caller) => caller.via === 'cli' || caller.via === 'library';

function visibleNames(
  catalog: LiveCatalog,
  call: Wanted,
  visible: (caller: Caller, target: Target) => boolean,
): readonly string[] {
  const { targets, spellings } = nameIndexOf(catalog.current(call.caller), call);
  return targets.filter((target) => visible(call.caller, target)).flatMap(spellings);
}

/** Says that a tool or prompt has none of these names. */
export function unknownName({ kind, name }: Wanted, names: readonly string[]): HeddleError {
  const guess = closest(name, names);
  const list = kind === 'tool' ? 'tools' : 'prompts';
  return new HeddleError('NAME_UNKNOWN', `Nothing is named ${name}.`, {
    fix: guess ? `Did you mean ${guess}?` : `Run \`heddle list ${list}\` to see what there is.`,
  });
}

/** The same for a resource that does not exist and one that is hidden: the reason depends on the URI alone. */
function unknownResource(uri: string): HeddleError {
  const why = whyAmbiguous(serverAndUri(uri)?.uri ?? uri);
  const refused = why && ` A URI that servers may read as another is refused where a rule names URIs: ${why}.`;
  return new HeddleError('NAME_UNKNOWN', `No server has the resource ${uri}.${refused ?? ''}`, {
    fix: why
      ? 'Write the URI in its normal form.'
      : 'Ask for one that `heddle list resources` shows, or say whose it is: heddle://<server>/<uri>.',
    details: { uri },
  });
}
