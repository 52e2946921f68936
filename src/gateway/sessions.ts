import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Abilities, JsonObject } from '../core/call.ts';
import type { Clock } from '../core/clock.ts';
import type { Logging } from './asked.ts';
import { type ClientQuestions, clientQuestions } from './client-questions.ts';
import { type Followed, followed } from './followed.ts';
import { MAX_HELD_BYTES, type Reply, toEvent } from './reply.ts';

/** What a legacy client has open with us. */
export interface Session {
  readonly id: string;
  readonly callerId: string;
  /** Requests not answered yet, so that the client can cancel them. */
  readonly running: Map<string | number, Reply>;
  /** Where it hears what it did not ask for. */
  readonly streams: Set<ServerResponse>;
  readonly followed: Followed;
  /** What its user can be asked, and has been asked. */
  readonly can: Abilities | undefined;
  readonly questions: ClientQuestions;
  readonly logging: Logging;
  lastUsed: number;
}

export interface Sessions {
  open(callerId: string, can?: Abilities): Session;
  /** A session belongs to the caller who opened it: to anyone else it does not exist. */
  find(id: string | undefined, callerId: string): Session | undefined;
  end(session: Session): void;
  all(): Iterable<Session>;
}

const IDLE_MS = 30 * 60_000;
const MAX_SESSIONS = 10_000;

/** Sessions live in this process, and end when they are not used for half an hour. */
export function openSessions(clock: Clock = Date.now): Sessions {
  const sessions = new Map<string, Session>(); // In order of last use.

  function end(session: Session): void {
    sessions.delete(session.id);
    session.followed.close();
    for (const reply of session.running.values()) reply.cancel();
    for (const stream of session.streams) stream.end();
  }

  function endStale(): void {
    for (const session of sessions.values()) {
      const old = clock() - session.lastUsed > IDLE_MS;
      if (!old && sessions.size <= MAX_SESSIONS) return;
      // One that waits or listens is in use, however long ago it last spoke.
      const idle = session.running.size === 0 && session.streams.size === 0;
      if (idle || sessions.size > MAX_SESSIONS) end(session);
    }
  }

  return {
    open(callerId, can) {
      const streams = new Set<ServerResponse>();
      const session: Session = {
        id: randomUUID(),
        callerId,
        running: new Map(),
        streams,
        followed: followed((method, params) => tellOne(streams, { jsonrpc: '2.0', method, params })),
        can,
        questions: clientQuestions(),
        logging: {
          level: undefined,
          sayLate: (params) => tellOne(streams, { jsonrpc: '2.0', method: 'notifications/message', params }),
        },
        lastUsed: clock(),
      };
      sessions.set(session.id, session);
      endStale();
      return session;
    },
    find(id, callerId) {
      endStale();
      const session = id === undefined ? undefined : sessions.get(id);
      if (!session || session.callerId !== callerId) return undefined;
      session.lastUsed = clock();
      sessions.delete(session.id);
      sessions.set(session.id, session);
      return session;
    },
    end,
    all: () => sessions.values(),
  };
}

/** One message is said once, on whichever stream is open. */
function tellOne([stream]: Iterable<ServerResponse>, message: JsonObject): void {
  if (stream && stream.writableLength <= MAX_HELD_BYTES) stream.write(toEvent(message));
}
