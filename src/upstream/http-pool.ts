import { setTimeout as wait } from 'node:timers/promises';
import type { Agent } from 'undici';

/** The sockets to all remote servers. Nothing is loaded before the first of them is needed. */
export interface HttpPool {
  agent(): Promise<Agent>;
  close(): Promise<void>;
}

const GOODBYE_MS = 300;

export function httpPool(): HttpPool {
  let agent: Promise<Agent> | undefined;
  return {
    agent() {
      // Deadlines are the peer's: a stream may be silent for days.
      agent ??= import('undici').then(({ Agent }) => new Agent({ headersTimeout: 0, bodyTimeout: 0, pipelining: 1 }));
      return agent;
    },
    async close() {
      const open = await agent;
      // What was said last, the goodbye to a session, gets a moment to leave.
      await Promise.race([open?.close(), wait(GOODBYE_MS, undefined, { ref: false })]);
      await open?.destroy();
    },
  };
}
