import { abortable } from '../core/async/abortable.ts';
import type { Call, Caller, ResolvedCall, Target } from '../core/call.ts';
import { HeddleError, triedAt } from '../core/errors.ts';
import { closest } from '../core/text/did-you-mean.ts';
import { whyAmbiguous } from '../core/text/uri-form.ts';
import { quoteName } from '../core/text/visible-text.ts';
import type { Servers } from '../upstream/servers.ts';
import { isSignInTool } from './entries/sign-in-tool.ts';
import { findIn, hasUri, nameIndexOf, withLinked } from './find.ts';
import type { LiveCatalog } from './live-catalog.ts';
import { serverAndUri } from './views/own-uri.ts';

export interface ResolveOptions {
  readonly catalog: LiveCatalog;
  readonly servers: Servers;
  /** Starts servers whose entries are unknown, and waits for a limited time. */
  readonly discover: (caller: Caller, signal: AbortSignal) => Promise<void>;
  readonly visible: (caller: Caller, target: Target) => boolean;
  readonly serverVisible: (caller: Caller, server: string) => boolean;
}

/** The fields of a call that determine its target. */
export type Wanted = Pick<Call, 'kind' | 'name' | 'caller' | 'signal'> & Partial<Pick<Call, 'input' | 'options'>>;

/** Returns synchronously if no server has to be started. */
export type Resolve = (call: Wanted) => Target | Promise<Target>;

/**
 * Looks a name up and starts its server if needed. Unknown and hidden names give the same error.
 */
export function resolver(options: ResolveOptions): Resolve {
  const { catalog, servers, visible, serverVisible } = options;
  const find = (call: Wanted) =>
    findIn(catalog.current(call.caller), withLinked(catalog, call), (target) => visible(call.caller, target));

  /** Starts the servers that may have the target. Returns the error if that failed. */
  async function start(call: Wanted, known: Target | undefined): Promise<unknown> {
    const { caller, signal } = call;
    const owners = known?.servers ?? serversIn(call, servers).filter((server) => serverVisible(caller, server));
    if (owners.length > 0) return startOneOf(owners, servers, call);
    // Clients use listed names. Users may write a bare tool name, and a URI names no server.
    if (hasUri(call) || isTypedByPerson(caller)) await options.discover(caller, signal);
    return undefined;
  }

  /**
   * Looks among the lists that were still being fetched, and among the tools that a server lists only to clients with
   * the caller's capabilities.
   */
  async function findMore(call: Wanted): Promise<Target | undefined> {
    const { caller, signal } = call;
    const [server] = serversIn(call, servers);
    if (server === undefined || !serverVisible(caller, server)) return undefined;
    if (call.kind !== 'tool') {
      await abortable(servers.settleLists(server, call) ?? Promise.resolve(), signal);
      return find(call);
    }
    if (!caller.capabilities) return undefined;
    await servers.discoverTools(server, { caller, capabilities: caller.capabilities }, signal).catch(() => {}); // Then there are no further tools.
    return find(call);
  }

  async function resolveAnew(call: Wanted, known: Target | undefined): Promise<Target> {
    const failure = await start(call, known);
    const found = find(call) ?? (failure ? undefined : await findMore(call));
    if (failure && (found || !known || needsSignIn(failure))) throw failure;
    if (found) return found;
    throw notFound(options, call);
  }

  return function resolve(call) {
    const known = find(call);
    if (known && isSignInTool(known)) return known;
    return known?.servers.some((server) => servers.connected(server, call)) ? known : resolveAnew(call, known);
  };
}

/** Converts a call to a resolved call. It is the only place that does. */
export function withTarget(call: Call, target: Target): ResolvedCall {
  return { ...call, target };
}

/** Connects the first server that can be reached. Returns the first error if none can. */
async function startOneOf(names: readonly string[], servers: Servers, call: Wanted): Promise<unknown> {
  let failure: unknown;
  for (const server of names) {
    const startedAt = performance.now();
    try {
      await servers.connect(server, call.signal, call);
      return undefined;
    } catch (thrown) {
      failure ??= triedAt(thrown, server, performance.now() - startedAt);
    }
  }
  return failure;
}

const needsSignIn = (failure: unknown) => HeddleError.from(failure).code === 'AUTH_NEEDED';

/** Returns the server that a name begins with, the longest if several match. A URI has none unless it names it. */
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

/**
 * Builds the error for a name or a URI that was not found. It says that a sign-in is needed if each server of the caller
 * needs one: what they have is unknown then.
 */
function notFound({ catalog, servers, visible, serverVisible }: ResolveOptions, call: Wanted): HeddleError {
  const needed = neededSignIn({ servers, serverVisible }, call.caller);
  if (needed) return needed;
  return hasUri(call) ? unknownResource(call.name) : unknownName(call, visibleNames(catalog, call, visible));
}

/** Returns AUTH_NEEDED if a caller has servers, and each of them needs a sign-in. */
export function neededSignIn(
  { servers, serverVisible }: Pick<ResolveOptions, 'servers' | 'serverVisible'>,
  caller: Caller,
): HeddleError | undefined {
  const own = servers
    .status(caller)
    .filter(({ name, scope, state }) => scope !== 'builtin' && state !== 'disabled' && serverVisible(caller, name));
  const [first] = own;
  if (!first || own.some(({ state }) => state !== 'needs-auth')) return undefined;
  const { name: server, reason = `${server} requires a sign-in.`, fix } = first;
  return new HeddleError('AUTH_NEEDED', reason, { details: { server }, ...(fix !== undefined && { fix }) });
}

/** Builds the error for an unknown tool or prompt, with the closest of the names. */
export function unknownName({ kind, name }: Wanted, names: readonly string[]): HeddleError {
  const guess = closest(name, names);
  const list = kind === 'tool' ? 'tools' : 'prompts';
  return new HeddleError('NAME_UNKNOWN', `Nothing is named ${name}.`, {
    fix: guess ? `Did you mean ${quoteName(guess)}?` : `Run \`heddle list ${list}\` to see what there is.`,
  });
}

/** Builds the error for an unknown or hidden resource. It depends on the URI alone, so it reveals nothing. */
function unknownResource(uri: string): HeddleError {
  const ambiguity = whyAmbiguous(serverAndUri(uri)?.uri ?? uri);
  const refused =
    ambiguity && ` A URI that servers may read as another is refused where a rule names URIs: ${ambiguity}.`;
  return new HeddleError('NAME_UNKNOWN', `No server has the resource ${uri}.${refused ?? ''}`, {
    fix: ambiguity
      ? 'Write the URI in its normal form.'
      : 'Ask for one that `heddle list resources` shows, or name its server: heddle://<server>/<uri>.',
    details: { uri },
  });
}
