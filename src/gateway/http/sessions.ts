import { randomUUID } from 'node:crypto';
import type { Caller, ClientCapabilities, JsonObject } from '../../core/call.ts';
import { ERRORS } from '../../core/error-codes.ts';
import { type Clock, steadyClock } from '../../core/time.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { INTERNAL_ERROR, SERVER_ERROR } from '../../wire/mcp.ts';
import { type InSession, type LogSettings, newSessionKey } from '../request-context.ts';
import { type ResourceSubscriptions, resourceSubscriptions } from '../resource-subscriptions.ts';
import type { ResponseWriter } from '../response-writer.ts';
import { type ClientRequests, clientRequests } from './client-requests.ts';
import type { Reply } from './reply.ts';
import { type ByteCount, type EventStream, type SessionEvents, sessionEvents } from './session-events.ts';

/** The outcome of `initialize`: protocol version and client capabilities. */
export interface SessionInit {
  readonly version?: string | undefined;
  readonly capabilities?: ClientCapabilities | undefined;
}

/** The part of a caller that decides which sessions it may use. */
type SessionCaller = Pick<Caller, 'id' | 'profile' | 'person'>;

/**
 * Returns the owner key of a session: caller id, profile and person. A session cannot be used from another profile. A
 * token without a person cannot respond to the forms of a token with one.
 */
export const sessionOwner = ({ id, profile, person }: SessionCaller): string =>
  profile === undefined && person === undefined ? id : JSON.stringify([id, profile ?? null, person ?? null]);

/** The state of one legacy client. */
export interface Session extends SessionInit {
  readonly id: string;
  /** The id of the caller, the same in every profile: private connections belong to it. */
  readonly callerId: string;
  /** The key of `sessionOwner`. */
  readonly owner: string;
  /** The requests in flight by id, so that the client can cancel them. */
  readonly running: Map<string | number, Reply>;
  /** Open GET streams, which carry notifications that belong to no request. */
  readonly streams: Set<ResponseWriter>;
  readonly subscriptions: ResourceSubscriptions;
  /** Server-to-client requests without a response yet. */
  readonly clientRequests: ClientRequests;
  readonly logging: LogSettings;
  /** Adds the key of this session to the caller of a call. */
  readonly inSession: InSession;
  /** Sends a notification that belongs to no request. */
  readonly notify: (method: string, params: JsonObject) => void;
  /** Recent events, for clients that resume. */
  readonly events: SessionEvents;
  /** The stream of notifications that belong to no request; undefined until the first GET. */
  notifications: EventStream | undefined;
  lastUsed: number;
  /** Restarts the idle time. A request or stream may have lasted longer than it. Does nothing once the session has ended. */
  readonly renew: () => void;
}

export interface Sessions {
  /** Opens a session. At the limit it ends the least recently used idle one, or throws TooManySessions. */
  open(caller: SessionCaller, init?: SessionInit): Session;
  /** Returns a session of this caller in this profile; undefined for the id of another session. */
  find(id: string | undefined, caller: SessionCaller): Session | undefined;
  end(session: Session): void;
  all(): Iterable<Session>;
}

const IDLE_MS = 30 * 60_000;
const MAX_SESSIONS = 10_000;
// Far below MAX_SESSIONS, so that one caller ends its own sessions and not those of others.
const MAX_PER_CALLER = 1000;

export interface SessionsOptions {
  readonly clock?: Clock;
  readonly max?: number;
  readonly maxPerCaller?: number;
}

/** The error if the limit is reached and every session has a request in flight or an open stream. */
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

/** Creates the session table of this process. A session ends after 30 minutes without use. */
export function openSessions(options: SessionsOptions = {}): Sessions {
  const { clock = steadyClock, max = MAX_SESSIONS, maxPerCaller = MAX_PER_CALLER } = options;
  const total: ByteCount = { bytes: 0 };
  // Both maps are in order of last use.
  const sessions = new Map<string, Session>();
  const byOwner = new Map<string, Set<Session>>();
  let newest: Session | undefined;

  function touch(session: Session): void {
    if (session === newest) return;
    const own = byOwner.get(session.owner) ?? new Set();
    forget(session);
    newest = session;
    sessions.set(session.id, session);
    byOwner.set(session.owner, own.add(session));
  }

  function renew(session: Session): void {
    if (sessions.get(session.id) !== session) return;
    session.lastUsed = clock();
    touch(session);
  }

  function evictFor(owner: string): void {
    const own = byOwner.get(owner);
    if (own && own.size >= maxPerCaller) end(firstIdle(own) ?? refuse('This caller', maxPerCaller));
    if (sessions.size >= max) end(firstIdle(sessions.values()) ?? refuse('The gateway', max));
  }

  function forget({ id, owner }: Session): void {
    const session = sessions.get(id);
    const own = byOwner.get(owner);
    if (!session || !own) return;
    if (newest === session) newest = undefined;
    sessions.delete(id);
    own.delete(session);
    if (own.size === 0) byOwner.delete(owner);
  }

  function end(session: Session): void {
    forget(session);
    release(session);
  }

  function endStale(): void {
    for (const session of sessions.values()) {
      if (clock() - session.lastUsed <= IDLE_MS) return;
      if (isIdle(session)) end(session);
    }
  }

  return {
    open(caller, init) {
      endStale();
      const owner = sessionOwner(caller);
      evictFor(owner);
      const times = { lastUsed: clock(), renew: () => renew(session) };
      const session: Session = newSession({ ...init, ...times, callerId: caller.id, owner }, total);
      touch(session);
      return session;
    },
    find(id, caller) {
      endStale();
      const session = id === undefined ? undefined : sessions.get(id);
      if (!session || session.owner !== sessionOwner(caller)) return undefined;
      session.renew();
      return session;
    },
    end,
    all: () => sessions.values(),
  };
}

/** Cancels the requests of an ended session and ends its streams. */
function release({ subscriptions, running, events, streams }: Session): void {
  subscriptions.close();
  for (const reply of running.values()) reply.cancelWith(SESSION_ENDED);
  events.close(); // Cancelling still writes events.
  for (const stream of streams) stream.end();
}

/** Tells whether a session has neither a request in flight nor an open stream. */
const isIdle = ({ running, streams }: Session): boolean => running.size === 0 && streams.size === 0;

function firstIdle(byLastUse: Iterable<Session>): Session | undefined {
  for (const session of byLastUse) if (isIdle(session)) return session;
  return undefined;
}

function refuse(who: string, max: number): never {
  throw new TooManySessions(who, max);
}

function newSession(
  init: SessionInit & Pick<Session, 'callerId' | 'owner' | 'lastUsed' | 'renew'>,
  total: ByteCount,
): Session {
  const notify = (method: string, params: JsonObject) => notifySession(session, { jsonrpc: '2.0', method, params });
  const session: Session = {
    ...init,
    id: randomUUID(),
    running: new Map(),
    streams: new Set(),
    notify,
    subscriptions: resourceSubscriptions(notify),
    clientRequests: clientRequests(),
    inSession: newSessionKey(),
    logging: { level: undefined, notifyLater: (params) => notify('notifications/message', params) },
    events: sessionEvents(total),
    notifications: undefined,
  };
  return session;
}

/** Sends a message once, on the first open stream of a session. Keeps it for a client that resumes. */
export function notifySession({ streams: [stream], notifications }: Session, message: JsonObject): void {
  const event = notifications?.keep(JSON.stringify(message));
  if (stream && event !== undefined) stream.write(event);
}
