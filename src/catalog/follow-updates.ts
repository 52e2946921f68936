import type { Caller, JsonObject, ResolvedCall, Result, Stage, Target } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import type { Servers } from '../upstream/servers.ts';
import { ownUri, serverAndUri } from './own-uri.ts';
import { MAX_URI_CHARS } from './resources.ts';

export interface FollowOptions {
  readonly servers: Pick<Servers, 'subscribe' | 'unsubscribe'>;
  /** What may no longer be seen is no longer told of. */
  readonly visible: (caller: Caller, target: Target) => boolean;
}

export interface FollowedUpdates {
  /** Answers subscriptions; everything else passes. */
  readonly stage: Stage<ResolvedCall>;
  /** Tells those who follow a resource of a server that it has changed. */
  tell(server: string, params: JsonObject): void;
}

const NEVER = new AbortController().signal;

/** Lets any number follow a resource, which its server is asked for once. */
export function followUpdates({ servers, visible }: FollowOptions): FollowedUpdates {
  const followers = new Map<string, Set<ResolvedCall>>(); // By server.

  function add(server: string, call: ResolvedCall): void {
    const all = followers.get(server) ?? new Set();
    followers.set(server, all.add(call));
  }

  function remove(server: string, call: ResolvedCall): void {
    const all = followers.get(server);
    all?.delete(call);
    if (all?.size === 0) followers.delete(server);
  }

  async function follow(call: ResolvedCall): Promise<void> {
    const { target, signal } = call;
    const [server] = target.servers;
    add(server, call); // What happens right after the server's answer must not be missed.
    try {
      await servers.subscribe(server, target.name, signal);
    } catch (thrown) {
      remove(server, call);
      throw thrown;
    }
    const leave = () => {
      remove(server, call);
      void servers.unsubscribe(server, target.name, NEVER);
    };
    signal.addEventListener('abort', leave, { once: true });
    if (!signal.aborted) return;
    leave();
    throw new HeddleError('CALL_CANCELLED', `Nobody wants to follow ${call.name} any more.`);
  }

  async function answer(call: ResolvedCall): Promise<Result> {
    const startedAt = performance.now();
    await follow(call);
    const from = { server: call.target.servers[0], attempts: 1, latencyMs: performance.now() - startedAt };
    return { kind: 'complete', value: {}, isError: false, from };
  }

  function newsOf(call: ResolvedCall, uri: string, params: JsonObject): JsonObject {
    if (uri === call.target.name) return { ...params, uri: call.name };
    const part = partOf(call, uri);
    // Even the name of what is hidden is not told, nor what else is said of it.
    return visible(call.caller, part) ? { ...params, uri: part.publicName } : { uri: call.name };
  }

  return {
    stage: (call, next) => (call.kind === 'subscription' ? answer(call) : next(call)),
    tell(server, params) {
      const { uri } = params;
      if (typeof uri !== 'string' || uri.length > MAX_URI_CHARS) return;
      for (const call of followers.get(server) ?? []) {
        if (isWithin(uri, call.target.name) && visible(call.caller, call.target)) hand(call, newsOf(call, uri, params));
      }
    },
  };
}

/** A server may tell of a part of what it was asked to tell of. */
const isWithin = (uri: string, followed: string): boolean =>
  uri.startsWith(followed) &&
  (uri.length === followed.length || followed.endsWith('/') || uri[followed.length] === '/');

/** What lies below a URI that names its server is named the same way. */
const partOf = ({ name, target }: ResolvedCall, uri: string): Target => ({
  ...target,
  publicName: serverAndUri(name) ? ownUri(target.servers[0], uri) : uri,
  name: uri,
});

function hand({ report }: ResolvedCall, news: JsonObject): void {
  try {
    report?.(news);
  } catch {
    // Whoever follows answers for what it does with the news; the others are told all the same.
  }
}
