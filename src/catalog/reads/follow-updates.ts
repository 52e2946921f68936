import { isSameUser, type PrivateUser } from '../../core/call/private-user.ts';
import type { Caller, JsonObject, ResolvedCall, Result, Stage, Target } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Servers } from '../../upstream/servers.ts';
import { ownUri, serverAndUri } from '../entries/own-uri.ts';
import { MAX_URI_CHARS } from '../entries/resources.ts';

export interface FollowUpdatesOptions {
  readonly servers: Pick<Servers, 'privateUserFor' | 'subscribe' | 'unsubscribe'>;
  /** What may no longer be seen is no longer told of. */
  readonly visible: (caller: Caller, target: Target) => boolean;
}

export interface UpdateSubscriptions {
  /** Answers subscriptions; everything else passes. */
  readonly stage: Stage<ResolvedCall>;
  /** Tells those who follow a resource that it has changed: on the shared connection, or on that of one user. */
  tell(server: string, params: JsonObject, user?: PrivateUser): void;
}

/** A subscription, and the private user whose connection it is on; undefined on the shared one. */
interface Follower {
  readonly call: ResolvedCall;
  readonly user: PrivateUser | undefined;
}

const NEVER = new AbortController().signal;

/** Lets any number follow a resource, which its server is asked for once. */
export function followUpdates({ servers, visible }: FollowUpdatesOptions): UpdateSubscriptions {
  const followers = new Map<string, Set<Follower>>(); // By server.

  function add(server: string, one: Follower): void {
    const all = followers.get(server) ?? new Set();
    followers.set(server, all.add(one));
  }

  function remove(server: string, one: Follower): void {
    const all = followers.get(server);
    all?.delete(one);
    if (all?.size === 0) followers.delete(server);
  }

  async function follow(call: ResolvedCall): Promise<void> {
    const { target, signal } = call;
    const [server] = target.servers;
    const user = await servers.privateUserFor(server, call, signal);
    const one = { call, user };
    const what = { uri: target.name, user: user && call };
    add(server, one); // What happens right after the server's answer must not be missed.
    try {
      await servers.subscribe(server, what, signal);
    } catch (thrown) {
      remove(server, one);
      throw thrown;
    }
    const leave = () => {
      remove(server, one);
      void servers.unsubscribe(server, what, NEVER);
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
    return { kind: 'complete', value: {}, isError: false, provenance: from };
  }

  function newsOf(call: ResolvedCall, uri: string, params: JsonObject): JsonObject {
    if (uri === call.target.name) return { ...params, uri: call.name };
    const part = partOf(call, uri);
    // Even the name of what is hidden is not told, nor what else is said of it.
    return visible(call.caller, part) ? { ...params, uri: part.publicName } : { uri: call.name };
  }

  return {
    stage: (call, next) => (call.kind === 'subscription' ? answer(call) : next(call)),
    tell(server, params, from) {
      const { uri } = params;
      if (typeof uri !== 'string' || uri.length > MAX_URI_CHARS) return;
      for (const { call, user } of followers.get(server) ?? []) {
        if (isFrom(user, from) && isWithin(uri, call.target.name) && visible(call.caller, call.target))
          hand(call, newsOf(call, uri, params));
      }
    },
  };
}

/** Tests whether a subscription is on the connection that a notification came from. */
const isFrom = (user: PrivateUser | undefined, from: PrivateUser | undefined): boolean =>
  user && from ? isSameUser(user, from) : user === from;

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

function hand({ onProgress }: ResolvedCall, news: JsonObject): void {
  try {
    onProgress?.(news);
  } catch {
    // Whoever follows answers for what it does with the news; the others are told all the same.
  }
}
