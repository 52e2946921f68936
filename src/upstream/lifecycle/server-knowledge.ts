import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../core/call.ts';
import type { HeddleError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import type { ServerMemory } from '../../store/server-book.ts';
import type { ListKind } from '../connection.ts';
import { type EraCache, eraCache } from '../protocol/era-cache.ts';
import type { ServerPlan } from './plan-server.ts';

export type Lists = Readonly<Partial<Record<ListKind, readonly JsonObject[]>>>;

/** What is known of a server, from now or from the last time it was seen. */
export interface Knowledge {
  readonly era: EraCache;
  lists(): Lists;
  /** Takes a list; true when it is not the one that was known. */
  take(kind: ListKind, items: readonly JsonObject[]): boolean;
  /** A list could not be had; the one before stays. */
  miss(kind: ListKind, error: HeddleError): void;
  /** Which list could not be had, and why. */
  trouble(): string | undefined;
  /** Troubles go with the line they came on. */
  forgetTroubles(): void;
  /** The lists to remember for users with these capabilities; undefined for a built-in server. */
  memory(abilities: number, tools?: readonly JsonObject[]): ServerMemory | undefined;
}

export function knowledge(plan: ServerPlan, remembered: ServerMemory | undefined, clock: Clock): Knowledge {
  const era = eraCache(remembered, clock);
  const troubles = new Map<ListKind, string>();
  let lists: Lists = remembered?.lists ?? {};
  return {
    era,
    lists: () => lists,
    take(kind, items) {
      const isNew = !isDeepStrictEqual(lists[kind] ?? [], items);
      lists = { ...lists, [kind]: items };
      troubles.delete(kind);
      return isNew;
    },
    miss: (kind, { message }) => void troubles.set(kind, `Its ${kind} could not be listed: ${message}`),
    trouble: () => troubles.values().next().value,
    forgetTroubles: () => troubles.clear(),
    memory(abilities, tools = lists.tools ?? []) {
      const verdict = era.current();
      if (plan.scope === 'builtin' || !verdict) return undefined;
      const { resources = [], templates = [], prompts = [] } = lists;
      const { name: server, signature } = plan;
      return { server, abilities, signature, ...verdict, lists: { tools, resources, templates, prompts } };
    },
  };
}
