import { randomUUID } from 'node:crypto';
import type { Call, Caller, ClientCapabilities, InputRequest, JsonObject } from '../core/call.ts';
import type { RequestId } from '../wire/incoming-requests.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { type Era, METHOD_NOT_FOUND } from '../wire/mcp.ts';
import type { ResourceSubscriptions } from './resource-subscriptions.ts';

/** Sends a request to the client and resolves with its result. Throws an `RpcError` if the client returns an error. */
export type SendClientRequest = (request: InputRequest, signal: AbortSignal) => Promise<JsonObject>;

/** The context of one client request, the same for every transport. */
export interface RequestContext {
  readonly id: RequestId;
  readonly era: Era;
  readonly caller: Caller;
  /** Aborts when the client cancels or disconnects. */
  readonly signal: AbortSignal;
  /** Sends a notification about this request before its response. Returns false if that is no longer possible. */
  readonly notify: (method: string, params: JsonObject) => boolean;
  /** Adds the key of the session or connection to the caller of a call; absent if the client has neither. */
  readonly inSession?: InSession | undefined;
  /** The client's capabilities; none if absent. */
  readonly capabilities?: ClientCapabilities | undefined;
  /** The capabilities as the client declared them, with extensions that no server has; absent if it declared none. */
  readonly declared?: ClientCapabilities | undefined;
  /** Sends a server-to-client request while this one is open. Absent for modern clients: they get `input_required`. */
  readonly sendRequest?: SendClientRequest | undefined;
  /** The decoded `Mcp-Param-*` headers of a modern `tools/call`; absent for transports without headers. */
  readonly paramHeaders?: Call['paramHeaders'];
  /** The log level of the session; absent if log messages cannot be delivered. */
  readonly logging?: LogSettings | undefined;
  /** Sends a notification, also after the response; absent without a session. */
  readonly notifyLater?: ((method: string, params: JsonObject) => void) | undefined;
  /** The session's resource subscriptions; absent without a session. */
  readonly subscriptions?: ResourceSubscriptions | undefined;
}

/** Adds the key of one session to a caller. Returns the same object for the same caller, since caches are keyed by it. */
export type InSession = (caller: Caller) => Caller;

/** Creates the key of a new session. It is not the id of the session, which a client sends to be recognised. */
export function newSessionKey(): InSession {
  const session = randomUUID();
  let last: Caller | undefined;
  let withKey: Caller = { id: '', roles: [], via: 'gateway' };
  return function inSession(caller) {
    if (caller !== last) [last, withKey] = [caller, { ...caller, session }];
    return withKey;
  };
}

/** The logging state of one session. */
export interface LogSettings {
  /** The level of the last `logging/setLevel`; no messages are sent while it is undefined. */
  level: string | undefined;
  /** Sends a log message that arrives after the response of its call. */
  readonly notifyLater?: (params: JsonObject) => void;
}

/** Handles one request and returns its result. Throws an `RpcError` for an error response. */
export type RequestHandler = (method: string, params: JsonObject, context: RequestContext) => Promise<JsonObject>;

/** The error for a method that the gateway itself does not support. */
export class UnknownMethod extends RpcError {
  constructor(method: string) {
    super(METHOD_NOT_FOUND, `${method} is not supported.`);
  }
}
