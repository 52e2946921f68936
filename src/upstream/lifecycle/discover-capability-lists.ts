import { abortable } from '../../core/async/abortable.ts';
import { capabilitiesKey } from '../../core/call/client-capabilities.ts';
import type { ConnectionUser } from '../../core/call/private-user.ts';
import type { Caller } from '../../core/call.ts';
import type { PrivateConnections } from './private-connections.ts';
import type { Server } from './server.ts';
import type { Memories } from './server-memory.ts';

export type AbleUser = Required<ConnectionUser>;

/** Discovers the tools that servers list to clients with capabilities. Starts no server. */
export interface Learner {
  /** Has a connected server say what it lists to this user, unless that is known. */
  learn(name: string, user: AbleUser, signal: AbortSignal): Promise<void>;
  /** Queues the same for several servers. Settles when each has listed its tools or failed to. */
  learnLater(names: readonly string[], user: AbleUser): Promise<void>;
  /** Tests whether a server has to be connected before the tools that this caller sees are known. */
  needsConnection(name: string, caller: Caller): boolean;
}

interface LearnerOptions {
  readonly find: (name: string) => Server | undefined;
  readonly lines: PrivateConnections;
  readonly known: Memories;
  readonly signal: AbortSignal;
}

export function learner({ find, lines, known, signal: closing }: LearnerOptions): Learner {
  const waiting = new Set<string>();
  let last = Promise.resolve();

  async function learn(name: string, user: AbleUser, signal: AbortSignal): Promise<void> {
    const server = find(name);
    // A modern connection lists everything to all.
    if (server?.connection?.agreement.era !== 'legacy' || server.usesShared(user)) return;
    const { privately } = server;
    const isUnknown = !privately.able.asked(user.capabilities) && !lines.feedOf(privately, user);
    if (isUnknown) await lines.open(privately, user, signal);
    await abortable(privately.able.asked(user.capabilities) ?? Promise.resolve(), signal);
  }

  return {
    learn,
    learnLater(names, user) {
      for (const name of names) {
        const id = `${capabilitiesKey(user.capabilities)} ${name}`;
        if (waiting.has(id)) continue;
        waiting.add(id);
        // One at a time: lines are few, and whoever calls needs them more.
        last = last
          .then(() => learn(name, user, closing))
          .catch(() => {}) // It is asked again when somebody looks again.
          .finally(() => waiting.delete(id));
      }
      return last;
    },
    needsConnection(name, caller) {
      const server = find(name);
      return (
        server !== undefined && !server.connection && !known.has(server.plan, capabilitiesKey(caller.capabilities))
      );
    },
  };
}
