import { isDeepStrictEqual } from 'node:util';
import { abilitiesKey } from '../core/abilities.ts';
import type { Abilities, JsonObject } from '../core/call.ts';
import type { ServerMemory } from '../store/server-book.ts';

export interface AbleListsOptions {
  readonly remembered: readonly ServerMemory[];
  /** Receives the tools that a new connection with these capabilities lists, when they differ from before. */
  readonly onTools: (abilities: number, tools: readonly JsonObject[]) => void;
}

/**
 * The tools that one server lists on a new connection, by the capabilities that the connection declares. What changes
 * on a connection afterwards may be of its user alone, and is not kept here.
 */
export interface AbleLists {
  /** Settles when the server has listed them or failed to; undefined when it has yet to be asked. */
  asked(can: Abilities): Promise<void> | undefined;
  /** Takes a new connection with these capabilities: when its first lists are there, and when it is gone. */
  begin(abilities: number, listed: Promise<void>, closed: Promise<void>): void;
  /** Takes the first tools of a connection. */
  take(abilities: number, tools: readonly JsonObject[]): void;
  /** Forgets what was asked: the tools of the shared connection changed, so these may have, too. */
  doubt(): void;
}

export function ableLists({ remembered, onTools }: AbleListsOptions): AbleLists {
  const known = new Map(remembered.map(({ abilities, lists }) => [abilities, lists.tools]));
  const asked = new Map([...known.keys()].map((key) => [key, Promise.resolve()]));
  return {
    asked: (can) => asked.get(abilitiesKey(can)),
    begin(key, listed, closed) {
      asked.set(key, listed);
      closed.then(() => {
        if (!known.has(key)) asked.delete(key);
      });
    },
    take(key, tools) {
      const isNew = !isDeepStrictEqual(known.get(key), tools);
      known.set(key, tools);
      if (isNew) onTools(key, tools);
    },
    doubt: () => asked.clear(),
  };
}
