import { isSameUser, type PrivateUser } from '../../core/call/private-user.ts';
import type { Caller, DecidedCall, JsonObject, ResolvedCall, Result, Stage, Target } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Servers } from '../../upstream/servers.ts';
import { MAX_URI_CHARS } from '../entries/server-resources.ts';

export interface FollowUpdatesOptions {
  readonly servers: Pick<Servers, 'privateUserFor' | 'subscribe' | 'unsubscribe'>;
  /** Checked for every update: a resource that the caller may no longer see is not reported. */
  readonly visible: (caller: Caller, target: Target) => boolean;
}

export interface UpdateSubscriptions {
  /** Handles calls of kind `subscription`; passes every other call on. */
  readonly stage: Stage<DecidedCall>;
  /** Passes a `notifications/resources/updated` to the subscribers on the connection it came from: shared, or of `user`. */
  publish(server: string, params: JsonObject, user?: PrivateUser): void;
}

/** A subscription and the private user whose connection it uses; undefined means the shared connection. */
interface Subscriber {
  readonly call: ResolvedCall;
  readonly user: PrivateUser | undefined;
}

const NEVER = new AbortController().signal;

/** Shares one `resources/subscribe` per resource and connection between any number of subscribers. */
export function followUpdates({ servers, visible }: FollowUpdatesOptions): UpdateSubscriptions {
  const subscribers = new Map<string, Set<Subscriber>>(); // By server.

  function add(server: string, one: Subscriber): void {
    const all = subscribers.get(server) ?? new Set();
    subscribers.set(server, all.add(one));
  }

  function remove(server: string, one: Subscriber): void {
    const all = subscribers.get(server);
    all?.delete(one);
    if (all?.size === 0) subscribers.delete(server);
  }

  async function subscribe(call: ResolvedCall): Promise<void> {
    const { target, signal } = call;
    const [server] = target.servers;
    const user = await servers.privateUserFor(server, call, signal);
    const subscriber = { call, user };
    const subscription = { uri: target.name, user: user && call };
    add(server, subscriber); // Before the request: an update may follow its result at once.
    try {
      await servers.subscribe(server, subscription, signal);
    } catch (thrown) {
      remove(server, subscriber);
      throw thrown;
    }
    const unsubscribe = () => {
      remove(server, subscriber);
      void servers.unsubscribe(server, subscription, NEVER);
    };
    signal.addEventListener('abort', unsubscribe, { once: true });
    if (!signal.aborted) return;
    unsubscribe();
    throw new HeddleError('CALL_CANCELLED', `The subscription to ${call.name} was cancelled.`);
  }

  async function handle(call: ResolvedCall): Promise<Result> {
    const startedAt = performance.now();
    await subscribe(call);
    const provenance = { server: call.target.servers[0], attempts: 1, latencyMs: performance.now() - startedAt };
    return { kind: 'complete', value: {}, isError: false, provenance };
  }

  function updateFor(call: ResolvedCall, uri: string, params: JsonObject): JsonObject {
    if (uri === call.target.name) return { ...params, uri: call.name };
    const below = targetBelow(call, uri);
    // The URI and the other params of a hidden resource are not sent.
    return visible(call.caller, below) ? { ...params, uri: below.publicName } : { uri: call.name };
  }

  return {
    stage: function followUpdates(call, next) {
      return call.kind === 'subscription' ? handle(call) : next(call);
    },
    publish(server, params, sender) {
      const { uri } = params;
      if (typeof uri !== 'string' || uri.length > MAX_URI_CHARS) return;
      for (const { call, user } of subscribers.get(server) ?? []) {
        if (isFrom(user, sender) && isWithin(uri, call.target.name) && visible(call.caller, call.target))
          notify(call, updateFor(call, uri, params));
      }
    },
  };
}

/** Returns true if a subscription uses the connection that a notification came from. */
const isFrom = (user: PrivateUser | undefined, sender: PrivateUser | undefined): boolean =>
  user && sender ? isSameUser(user, sender) : user === sender;

/** Returns true for the subscribed URI and URIs below it: MCP lets a server report updates of sub-resources. */
const isWithin = (uri: string, subscribed: string): boolean =>
  uri.startsWith(subscribed) &&
  (uri.length === subscribed.length || subscribed.endsWith('/') || uri[subscribed.length] === '/');

/** Returns the target of a sub-resource. If the subscription names its server in the URI, so does the sub-resource. */
const targetBelow = ({ name, target }: ResolvedCall, uri: string): Target => ({
  ...target,
  publicName: name + uri.slice(target.name.length),
  name: uri,
});

function notify({ onProgress }: ResolvedCall, update: JsonObject): void {
  try {
    onProgress?.(update);
  } catch {
    // A failing subscriber must not keep the update from the others.
  }
}
