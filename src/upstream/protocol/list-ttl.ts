import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { type Clock, steadyClock } from '../../core/time.ts';
import { type Agreement, CAPABILITY_OF, type ListKind } from '../connection.ts';

export interface ListTtlsOptions {
  readonly agreement: Agreement;
  /** Told, in the server's stead, that a list may have changed. */
  readonly onNotification: (method: string, params: JsonObject) => void;
  readonly clock?: Clock;
}

/** How long the lists of one line stay good, where the server says so and does not tell of changes. */
export interface ListTtls {
  took(kind: ListKind, ttlMs: unknown): void;
  /** Lets those be asked for again whose time is over. */
  freshen(): void;
}

// However short the life of a list is said to be, its server is not asked for it with every look.
const SHORTEST_MS = 5000;

export function listTtls({ agreement, onNotification, clock = steadyClock }: ListTtlsOptions): ListTtls {
  const until = new Map<ListKind, number>();
  return {
    took(kind, ttlMs) {
      const offered = agreement.capabilities[CAPABILITY_OF[kind]];
      const tells = isObject(offered) && offered.listChanged === true;
      if (tells || agreement.era !== 'modern' || typeof ttlMs !== 'number' || !(ttlMs >= 0)) return;
      until.set(kind, clock() + Math.max(ttlMs, SHORTEST_MS));
    },
    freshen() {
      if (until.size === 0) return;
      const now = clock();
      const over = [...until].filter(([, end]) => end <= now).map(([kind]) => kind);
      for (const kind of over) until.set(kind, now + SHORTEST_MS); // Should asking fail, it is tried again.
      for (const list of new Set(over.map((kind) => CAPABILITY_OF[kind])))
        onNotification(`notifications/${list}/list_changed`, {});
    },
  };
}
