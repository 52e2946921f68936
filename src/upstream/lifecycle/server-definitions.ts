import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../core/call.ts';
import type { HeddleError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import type { Agreement, ListKind, UrlTransport } from '../connection.ts';
import { type EraCache, eraCache } from '../protocol/era-cache.ts';
import { type CapabilityLists, capabilityLists } from './capability-lists.ts';
import { type DeclaredExtensions, declaredExtensions } from './declared-extensions.ts';
import type { ServerPlan } from './plan-server.ts';
import type { ServerCache } from './server-cache.ts';

export type Lists = Readonly<Partial<Record<ListKind, readonly JsonObject[]>>>;

export interface ServerDefinitionsOptions {
  readonly plan: ServerPlan;
  readonly cache: ServerCache;
  readonly clock: Clock;
  /** Receives the tools that a new connection with these capabilities lists, when they differ from before. */
  readonly onCapabilityTools: (capabilitySet: number, tools: readonly JsonObject[]) => void;
}

/** The era and the lists of one server. They come from the cache until the server has listed them, and go back to it. */
export interface ServerDefinitions {
  readonly era: Omit<EraCache, 'invalidate'>;
  /** Takes the error of a connect: era and transport may have to be found out again. */
  invalidate(error: HeddleError): void;
  /** Returns the transport of the last connect, if it was found out then; undefined when it has to be found out. */
  urlTransport(): UrlTransport | undefined;
  /** The tools by the capabilities that a connection declares. */
  readonly capabilityLists: CapabilityLists;
  /** Returns the instructions of the last shared connection, of this process or an earlier one; undefined for none. */
  instructions(): string | undefined;
  readonly extensions: DeclaredExtensions;
  /** The lists of the shared connection. */
  lists(): Lists;
  /** Takes a list of the shared connection; true when it differs from the one before. */
  take(kind: ListKind, items: readonly JsonObject[]): boolean;
  /** Takes the failure of a list. The list before stays. */
  fail(kind: ListKind, error: HeddleError): void;
  /** Returns which list failed, and why. */
  failure(): string | undefined;
  /** Forgets failed lists, since their connection is gone. */
  clearFailures(): void;
  /** Writes the lists of the shared connection to the cache. */
  save(): void;
  /** Saves after a connect, with the instructions of the handshake unless they are for one user. The cache forgets an earlier failure. */
  saveConnected(agreement?: Pick<Agreement, 'instructions'>): void;
}

export function serverDefinitions(options: ServerDefinitionsOptions): ServerDefinitions {
  const { plan, cache, clock, onCapabilityTools } = options;
  const cached = cache.shared(plan);
  const era = eraCache(cached, clock);
  const newest = eraCache(cache.newest(plan), clock);
  const { succeed, ...failures } = listFailures();
  const { instructions: earlier, extensions: remembered } = cached ?? cache.newest(plan) ?? {};
  let instructions = plan.credentials === 'user' ? undefined : earlier;
  const extensions = declaredExtensions({
    configured: plan.extensions,
    remembered,
    tools: () => [lists.tools ?? [], ...capabilityTools.all()],
  });
  let lists: Lists = plan.credentials === 'user' ? {} : (cache.lists(plan) ?? {});

  /** Caches nothing of a built-in server, nor of a server whose era is in doubt. */
  function save(capabilitySet: number, tools = lists.tools ?? []): void {
    const verdict = era.current();
    if (plan.scope === 'builtin' || !verdict) return;
    const { resources = [], templates = [], prompts = [] } = lists;
    const { name: server, signature } = plan;
    const declared = extensions.declared();
    cache.put({
      ...{ server, capabilitySet, signature, ...verdict },
      ...(instructions !== undefined && { instructions }),
      ...(declared && { extensions: declared }),
      lists: { tools, resources, templates, prompts },
    });
  }

  const capabilityTools = capabilityLists({
    cached: cache.withCapabilities(plan),
    onTools(capabilitySet, tools) {
      onCapabilityTools(capabilitySet, tools);
      save(capabilitySet, tools);
    },
    onForgotten(capabilitySet) {
      onCapabilityTools(capabilitySet, []);
      cache.forget(plan, capabilitySet);
    },
  });

  return {
    era,
    invalidate(error) {
      era.invalidate(error);
      newest.invalidate(error);
      const isOfAll = plan.scope !== 'builtin' && plan.credentials !== 'user';
      if (isOfAll && error.code !== 'AUTH_NEEDED') cache.putFailure(plan, error);
    },
    urlTransport: () => era.knownTransport() ?? newest.knownTransport(),
    capabilityLists: capabilityTools,
    instructions: () => instructions,
    extensions,
    lists: () => lists,
    take(kind, items) {
      const isNew = !isDeepStrictEqual(lists[kind] ?? [], items);
      lists = { ...lists, [kind]: items };
      succeed(kind);
      return isNew;
    },
    ...failures,
    save: () => save(cache.sharedSet),
    saveConnected(agreement) {
      if (agreement) instructions = agreement.instructions;
      if (plan.scope !== 'builtin') cache.removeFailure(plan);
      save(cache.sharedSet);
    },
  };
}

type ListFailures = Pick<ServerDefinitions, 'fail' | 'failure' | 'clearFailures'>;

/** Keeps the last failure of each list until the list succeeds. */
function listFailures(): ListFailures & { succeed(kind: ListKind): void } {
  const failures = new Map<ListKind, string>();
  return {
    fail: (kind, { message }) => void failures.set(kind, `Its ${kind} could not be listed: ${message}`),
    succeed: (kind) => void failures.delete(kind),
    failure: () => failures.values().next().value,
    clearFailures: () => failures.clear(),
  };
}
