import type { Call, Caller, ClientCapabilities, InputRequest, JsonObject } from '../core/call.ts';
import type { RequestId } from '../wire/incoming-requests.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { type Era, METHOD_NOT_FOUND } from '../wire/mcp.ts';
import type { ResourceSubscriptions } from './resource-subscriptions.ts';

/** Sends a request to the client and resolves with its result. Throws an `RpcError` when the client returns an error. */
export type SendClientRequest = (request: InputRequest, signal: AbortSignal) => Promise<JsonObject>;

/** One request of a client, as the one who answers it sees it, whatever carried it here. */
export interface RequestContext {
  readonly id: RequestId;
  readonly era: Era;
  readonly caller: Caller;
  /** Aborts when the client cancels or leaves. */
  readonly signal: AbortSignal;
  /** Says something about this request before it is answered; false when that is no longer possible. */
  readonly notify: (method: string, params: JsonObject) => boolean;
  /** What its user can be asked; nothing when absent. */
  readonly capabilities?: ClientCapabilities | undefined;
  /** Asks its user while the request is open; absent where a question can only be the answer. */
  readonly sendRequest?: SendClientRequest | undefined;
  /** Throws when what the request said outside of its body does not agree with what a tool wants there. */
  readonly examine?: Call['examine'];
  /** What its client hears of servers' logs; absent where it could not be told. */
  readonly logging?: LogSettings | undefined;
  /** Tells its client something also after the answer; absent where it could not be told. */
  readonly notifyLater?: ((method: string, params: JsonObject) => void) | undefined;
  /** What its client follows; absent where it could not be told. */
  readonly subscriptions?: ResourceSubscriptions | undefined;
}

/** Of one session. */
export interface LogSettings {
  /** From which level on; nothing at all when it was never said. */
  level: string | undefined;
  /** Tells it what comes after the call was answered, where that takes another way. */
  readonly notifyLater?: (said: JsonObject) => void;
}

/** Answers one request; throws an `RpcError` to refuse. Everything MCP means is behind this. */
export type RequestHandler = (method: string, params: JsonObject, asked: RequestContext) => Promise<JsonObject>;

/** What we ourselves refuse a method with that we do not know. */
export class UnknownMethod extends RpcError {
  constructor(method: string) {
    super(METHOD_NOT_FOUND, `${method} is not supported.`);
  }
}
