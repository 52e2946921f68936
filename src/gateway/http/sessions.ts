import { randomUUID } from 'node:crypto';
import type { ClientCapabilities, JsonObject } from '../../core/call.ts';
import { ERRORS } from '../../core/errors.ts';
import { type Clock, steadyClock } from '../../core/time.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { INTERNAL_ERROR, SERVER_ERROR } from '../../wire/mcp.ts';
import type { LogSettings } from '../request-context.ts';
import { type ResourceSubscriptions, resourceSubscriptions } from '../resource-subscriptions.ts';
import { type ResponseWriter, writeOrDisconnect } from '../response-writer.ts';
import { type ClientRequests, clientRequests } from './client-requests.ts';
import { type ByteCount, type EventStream, type SessionEvents, sessionEvents } from './event-store.ts';
import type { Reply } from './reply.ts';

/** What a client and we agreed on when it came. */
export interface SessionInit {
  readonly version?: string | undefined;
  /** What its user can be asked. */
  readonly capabilities?: ClientCapabilities | undefined;
}

/** What a legacy client has open with us. */
export interface Session extends SessionInit {
  readonly id: string;
  readonly callerId: string;
  /** Requests not answered yet, so that the client can cancel them. */
  readonly running: Map<string | number, Reply>;
  /** Where it hears what it did not ask for. */
  readonly streams: Set<ResponseWriter>;
  readonly subscriptions: ResourceSubscriptions;
  /** What its user was asked. */
  readonly clientRequests: ClientRequests;
  readonly logging: LogSettings;
  /** Tells it something that belongs to none of its requests. */
  readonly say: (method: string, params: JsonObject) => void;
  /** What it was told lately. */
  readonly events: SessionEvents;
  /** What it hears unasked, from the moment it first listened. */
  heard: EventStream | undefined;
  lastUsed: number;
}

export interface Sessions {
  /** Opens a session, ending the longest unused idle one where there are too many. Throws TooManySessions. */
  open(callerId: string, greeting?: SessionInit): Session;
  /** A session belongs to the caller who opened it: to anyone else it does not exist. */
  find(id: string | undefined, callerId: string): Session | undefined;
  end(session: Session): void;
  all(): Iterable<Session>;
}

const IDLE_MS = 30 * 60_000;
const MAX_SESSIONS = 10_000;
// Far below the other: a caller that opens ever new ones ends its own, not those of others.
const MAX_PER_CALLER = 1000;

export interface SessionsOptions {
  readonly clock?: Clock;
  readonly max?: number;
  readonly maxPerCaller?: number;
}

/** A session was refused: as many as there may be are open, and each has a request in flight or a stream open. */
export class TooManySessions extends RpcError {
  constructor(who: string, max: number) {
    super(SERVER_ERROR, `${who} has ${max} sessions, all in use. End one with DELETE, or wait for its requests.`);
  }
}

const SESSION_ENDED = {
  status: 200,
  code: INTERNAL_ERROR,
  message: `The session has ended. This request was cancelled. ${ERRORS.CALL_CANCELLED.fix}`,
  data: { code: 'CALL_CANCELLED' },
};

/** Sessions live in this process, and end when they are not used for half an hour. */
export function openSessions(options: SessionsOptions = {}): Sessions {
  const { clock = steadyClock, max = MAX_SESSIONS, maxPerCaller = MAX_PER_CALLER } = options;
  const room: ByteCount = { bytes: 0 };
  // Both in order of last use.
  const sessions = new Map<string, Session>();
  const byCaller = new Map<string, Set<Session>>();
  let newest: Session | undefined;

  function keep(session: Session): void {
    if (session === newest) return;
    const own = byCaller.get(session.callerId) ?? new Set();
    forget(session);
    newest = session;
    sessions.set(session.id, session);
    byCaller.set(session.callerId, own.add(session));
  }

  function makeRoomFor(callerId: string): void {
    const own = byCaller.get(callerId);
    if (own && own.size >= maxPerCaller) end(firstIdle(own) ?? refuse('This caller', maxPerCaller));
    if (sessions.size >= max) end(firstIdle(sessions.values()) ?? refuse('The gateway', max));
  }

  function forget({ id, callerId }: Session): void {
    const session = sessions.get(id);
    const own = byCaller.get(callerId);
    if (!session || !own) return;
    if (newest === session) newest = undefined;
    sessions.delete(id);
    own.delete(session);
    if (own.size === 0) byCaller.delete(callerId);
  }

  function end(session: Session): void {
    forget(session);
    session.subscriptions.close();
    for (const reply of session.running.values()) reply.cancelWith(SESSION_ENDED);
    session.events.close(); // After the last of its events.
    for (const stream of session.streams) stream.end();
  }

  function endStale(): void {
    const now = clock();
    for (const session of sessions.values()) {
      if (now - session.lastUsed <= IDLE_MS) return;
      if (isIdle(session)) end(session);
    }
  }

  return {
    open(callerId, greeting) {
      endStale();
      makeRoomFor(callerId);
      const session = newSession({ ...greeting, callerId, lastUsed: clock() }, room);
      keep(session);
      return session;
    },
    find(id, callerId) {
      endStale();
      const session = id === undefined ? undefined : sessions.get(id);
      if (!session || session.callerId !== callerId) return undefined;
      session.lastUsed = clock();
      keep(session);
      return session;
    },
    end,
    all: () => sessions.values(),
  };
}

/** Tells whether a session has neither a request in flight nor an open stream, however long ago it was last used. */
const isIdle = ({ running, streams }: Session): boolean => running.size === 0 && streams.size === 0;

function firstIdle(byLastUse: Iterable<Session>): Session | undefined {
  for (const session of byLastUse) if (isIdle(session)) return session;
  return undefined;
}

function refuse(who: string, max: number): never {
  throw new TooManySessions(who, max);
}

function newSession(known: SessionInit & Pick<Session, 'callerId' | 'lastUsed'>, room: ByteCount): Session {
  const say = (method: string, params: JsonObject) => notifySession(session, { jsonrpc: '2.0', method, params });
  const session: Session = {
    ...known,
    id: randomUUID(),
    running: new Map(),
    streams: new Set(),
    say,
    subscriptions: resourceSubscriptions(say),
    clientRequests: clientRequests(),
    logging: { level: undefined, notifyLater: (params) => say('notifications/message', params) },
    events: sessionEvents(room),
    heard: undefined,
  };
  return session;
}

/** Says something to a legacy client that listens: once, on whichever stream is open. */
export function notifySession({ streams: [stream], heard }: Session, message: JsonObject): void {
  const event = heard?.keep(JSON.stringify(message));
  if (stream && event !== undefined) writeOrDisconnect(stream, event);
}
