import type { JsonObject } from '../core/call.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { INVALID_REQUEST } from '../wire/mcp.ts';

/** The resource subscriptions of one client. */
export interface ResourceSubscriptions {
  /** Subscribes once per URI: a second call waits for the first. A failed subscription is removed. */
  begin(uri: string, start: (context: SubscriptionContext) => Promise<void>): Promise<void>;
  end(uri: string): void;
  /** Ends all subscriptions, because the client has disconnected. */
  close(): void;
}

export interface SubscriptionContext {
  /** Aborts when the client unsubscribes or disconnects. */
  readonly signal: AbortSignal;
  readonly notify: (method: string, params: JsonObject) => void;
}

interface Subscription {
  readonly abort: AbortController;
  readonly begun: Promise<void>;
}

const MAX_SUBSCRIPTIONS = 1000;

/** Creates the subscriptions of one client. `notify` sends it a notification. */
export function resourceSubscriptions(notify: SubscriptionContext['notify']): ResourceSubscriptions {
  const entries = new Map<string, Subscription>();
  let closed = false;

  function end(uri: string): void {
    entries.get(uri)?.abort.abort();
    entries.delete(uri);
  }

  return {
    begin(uri, start) {
      const known = entries.get(uri);
      if (known) return known.begun;
      if (closed || entries.size >= MAX_SUBSCRIPTIONS) return Promise.reject(tooMany());
      const abort = new AbortController();
      const begun = start({ signal: abort.signal, notify });
      const entry = { abort, begun };
      entries.set(uri, entry);
      begun.catch(() => {
        if (entries.get(uri) === entry) entries.delete(uri);
      });
      return begun;
    },
    end,
    close() {
      closed = true;
      for (const uri of [...entries.keys()]) end(uri);
    },
  };
}

const tooMany = () =>
  new RpcError(INVALID_REQUEST, `One client can subscribe to at most ${MAX_SUBSCRIPTIONS} resources.`);
