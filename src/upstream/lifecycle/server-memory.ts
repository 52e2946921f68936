import type { ServerMemory } from '../../store/server-book.ts';
import type { ServerPlan } from './plan-server.ts';

type Remembered = Pick<ServerPlan, 'name' | 'signature'>;

/** What is remembered of servers, by whom it was listed to. */
export interface Memories {
  /** What a server listed on a line such as the main ones of this process; else what it lists to everybody. */
  of(server: Remembered): ServerMemory | undefined;
  /** What it listed to those who can be asked something; nothing where the main lines are theirs. */
  able(server: Remembered): readonly ServerMemory[];
  /** Tests whether the tools are remembered that clients with these capabilities see. */
  has(server: Remembered, clientCapabilities: number): boolean;
  put(memory: ServerMemory): void;
}

/** `abilities`: what the user of the main lines can be asked. */
export function memories(all: readonly ServerMemory[], abilities: number): Memories {
  const known = new Map<string, Map<number, ServerMemory>>();

  function put(memory: ServerMemory): void {
    const own = known.get(memory.server) ?? new Map<number, ServerMemory>();
    known.set(memory.server, own.set(memory.abilities, memory));
  }

  const ofEntry = ({ name, signature }: Remembered) =>
    [...(known.get(name)?.values() ?? [])].filter((memory) => memory.signature === signature);

  for (const memory of all) put(memory);
  return {
    put,
    of(server) {
      const found = ofEntry(server);
      return found.find((one) => one.abilities === abilities) ?? found.find((one) => one.abilities === 0);
    },
    has(server, clientCapabilities) {
      // A sole user with capabilities declares them on the shared connections.
      const wanted = abilities === 0 ? clientCapabilities : abilities;
      // The shared connection of a modern server lists all tools.
      const isListed = (one: ServerMemory) => one.abilities === wanted || (abilities === 0 && one.era === 'modern');
      return wanted === 0 || ofEntry(server).some(isListed);
    },
    able: (server) => (abilities === 0 ? ofEntry(server).filter((one) => one.abilities !== 0) : []),
  };
}
