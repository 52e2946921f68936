import type { Caller, JsonObject, ResolvedCall, Result, Stage, Target } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import type { Servers } from '../upstream/servers.ts';
import { ownUri, serverAndUri } from './own-uri.ts';

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
  const followers = new Map<string, Set<ResolvedCall>>();

  function add(key: string, call: ResolvedCall): void {
    const all = followers.get(key) ?? new Set();
    followers.set(key, all.add(call));
  }

  function remove(key: string, call: ResolvedCall): void {
    const all = followers.get(key);
    all?.delete(call);
    if (all?.size === 0) followers.delete(key);
  }

  async function follow(call: ResolvedCall): Promise<void> {
    const { target, signal } = call;
    const [server] = target.servers;
    const key = keyOf(server, target.name);
    add(key, call); // What happens right after the server's answer must not be missed.
    try {
      await servers.subscribe(server, target.name, signal);
    } catch (thrown) {
      remove(key, call);
      throw thrown;
    }
    const leave = () => {
      remove(key, call);
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

  return {
    stage: (call, next) => (call.kind === 'subscription' ? answer(call) : next(call)),
    tell(server, params) {
      if (followers.size === 0 || typeof params.uri !== 'string') return;
      for (const uri of withParents(params.uri)) {
        for (const call of followers.get(keyOf(server, uri)) ?? []) {
          if (visible(call.caller, call.target)) hand(call, params, { server, uri: params.uri });
        }
      }
    },
  };
}

/** The URI under which it was asked for; what lies below one that names its server is named the same way. */
function hand(
  { name, target, report }: ResolvedCall,
  params: JsonObject,
  changed: { server: string; uri: string },
): void {
  const below = serverAndUri(name) ? ownUri(changed.server, changed.uri) : changed.uri;
  try {
    report?.({ ...params, uri: target.name === changed.uri ? name : below });
  } catch {
    // Whoever follows answers for what it does with the news; the others are told all the same.
  }
}

const keyOf = (server: string, uri: string) => `${server} ${uri}`;

/** A server may tell of a part of what it was asked to tell of. */
function* withParents(uri: string): Generator<string> {
  yield uri;
  for (let end = uri.lastIndexOf('/'); end > 0; end = uri.lastIndexOf('/', end - 1)) {
    yield uri.slice(0, end + 1);
    yield uri.slice(0, end);
  }
}
