import type { JsonObject } from '../core/call.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { INVALID_REQUEST } from '../wire/mcp.ts';

/** What one client follows, until it says otherwise or leaves. */
export interface ResourceSubscriptions {
  /** Begins once for each URI: whoever follows it already waits for the same beginning. Forgotten when that fails. */
  begin(uri: string, start: (following: SubscriptionContext) => Promise<void>): Promise<void>;
  end(uri: string): void;
  /** The client has left. */
  close(): void;
}

export interface SubscriptionContext {
  /** Aborts when the client follows it no longer. */
  readonly signal: AbortSignal;
  readonly tell: (method: string, params: JsonObject) => void;
}

interface Entry {
  readonly abort: AbortController;
  readonly begun: Promise<void>;
}

const MAX_FOLLOWED = 1000;

/** For one client: `tell` reaches it. */
export function resourceSubscriptions(tell: SubscriptionContext['tell']): ResourceSubscriptions {
  const entries = new Map<string, Entry>();
  let closed = false;

  function end(uri: string): void {
    entries.get(uri)?.abort.abort();
    entries.delete(uri);
  }

  return {
    begin(uri, start) {
      const known = entries.get(uri);
      if (known) return known.begun;
      if (closed || entries.size >= MAX_FOLLOWED) return Promise.reject(tooMany());
      const abort = new AbortController();
      const begun = start({ signal: abort.signal, tell });
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

const tooMany = () => new RpcError(INVALID_REQUEST, `One client can follow ${MAX_FOLLOWED} resources, and no more.`);
