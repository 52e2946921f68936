import { isDeepStrictEqual } from 'node:util';
import { abilitiesKey } from '../core/abilities.ts';
import type { Abilities, JsonObject } from '../core/call.ts';
import type { ServerMemory } from '../store/server-book.ts';
import type { Connection, ConnectOptions } from './connection.ts';
import { type KeepListsOptions, type KeptLists, keepLists } from './keep-lists.ts';

export interface AbleListsOptions extends Pick<KeepListsOptions, 'clock' | 'alarm' | 'signal'> {
  readonly remembered: readonly ServerMemory[];
  /** Told the tools that it lists to those who can be asked this, when they are other than before. */
  readonly onTools: (abilities: number, tools: readonly JsonObject[]) => void;
}

/** What one server of the older era lists to those who can be asked something, by what that is. */
export interface AbleLists {
  /** Settles when the server has said, or failed to say; undefined when it has yet to be asked. */
  asked(can: Abilities): Promise<void> | undefined;
  /** Opens a line, and follows what is listed on it without holding up whoever the line is for. */
  open(can: Abilities, connect: (hear: ConnectOptions['hear']) => Promise<Connection>): Promise<Connection>;
  /** What everybody sees is other than before, so the rest may be, too. */
  doubt(): void;
}

export function ableLists({ remembered, onTools, ...keeping }: AbleListsOptions): AbleLists {
  const known = new Map(remembered.map(({ abilities, lists }) => [abilities, lists.tools]));
  const asked = new Map([...known.keys()].map((key) => [key, Promise.resolve()]));
  const followed = new Map<KeptLists, number>();

  function take(key: number, tools: readonly JsonObject[]): void {
    const isNew = !isDeepStrictEqual(known.get(key), tools);
    known.set(key, tools);
    if (isNew) onTools(key, tools);
  }

  function follow(key: number, lists: KeptLists, connection: Connection): void {
    followed.set(lists, key);
    // One that fails at first is asked again, as after a change.
    const again = () => lists.hear('notifications/tools/list_changed');
    asked.set(key, lists.begin(connection, keeping.signal).catch(again));
    connection.closed.then(() => {
      lists.close();
      followed.delete(lists);
      if (!known.has(key)) asked.delete(key);
    });
  }

  return {
    asked: (can) => asked.get(abilitiesKey(can)),
    async open(can, connect) {
      const key = abilitiesKey(can);
      if (key === 0) return connect(() => {});
      const onList = (_kind: unknown, tools: readonly JsonObject[]) => take(key, tools);
      const lists = keepLists({ ...keeping, kinds: ['tools'], onList, onFailure() {} });
      const connection = await connect((method) => lists.hear(method));
      follow(key, lists, connection);
      return connection;
    },
    doubt() {
      const fresh = new Set(followed.values());
      for (const key of [...asked.keys()]) if (!fresh.has(key)) asked.delete(key);
    },
  };
}
