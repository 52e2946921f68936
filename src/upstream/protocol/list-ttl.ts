import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { type Clock, steadyClock } from '../../core/time.ts';
import { type Agreement, CAPABILITY_OF, type ListKind } from '../connection.ts';

export interface ListTtlsOptions {
  readonly agreement: Agreement;
  /** Receives a `list_changed` notification when the `ttlMs` of a list is over. */
  readonly onNotification: (method: string, params: JsonObject) => void;
  readonly clock?: Clock;
}

/** The `ttlMs` of the lists of one modern connection. Ignored for lists with `listChanged` notifications. */
export interface ListTtls {
  record(kind: ListKind, ttlMs: unknown): void;
  /** Reports the lists whose time is over as changed, so that they are fetched again. */
  notifyExpired(): void;
}

// Shortest time between two fetches of a list, also if its `ttlMs` is shorter.
const SHORTEST_MS = 5000;

export function listTtls({ agreement, onNotification, clock = steadyClock }: ListTtlsOptions): ListTtls {
  const expiresAt = new Map<ListKind, number>();
  return {
    record(kind, ttlMs) {
      const declared = agreement.capabilities[CAPABILITY_OF[kind]];
      const notifies = isObject(declared) && declared.listChanged === true;
      if (notifies || agreement.era !== 'modern' || typeof ttlMs !== 'number' || !(ttlMs >= 0)) return;
      expiresAt.set(kind, clock() + Math.max(ttlMs, SHORTEST_MS));
    },
    notifyExpired() {
      if (expiresAt.size === 0) return;
      const now = clock();
      const expired = [...expiresAt].filter(([, end]) => end <= now).map(([kind]) => kind);
      for (const kind of expired) expiresAt.set(kind, now + SHORTEST_MS); // If the fetch fails, it is tried again.
      for (const list of new Set(expired.map((kind) => CAPABILITY_OF[kind])))
        onNotification(`notifications/${list}/list_changed`, {});
    },
  };
}
