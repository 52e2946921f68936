import type { InputRequest, JsonObject } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { STATE_TTL_MS } from '../continuations/request-state.ts';

/** The response stream of the client request that an input request belongs to. */
export interface ClientRequestStream {
  /** Sends a message. Returns false if the client has disconnected. */
  send(message: JsonObject): boolean;
  /** Writes a comment, so that proxies do not close an idle stream. */
  keepAlive(): void;
}

/** The server-to-client requests of one session that have no response yet. The client posts each response separately. */
export interface ClientRequests {
  send(inputRequest: InputRequest, stream: ClientRequestStream, signal: AbortSignal): Promise<JsonObject>;
  /** Settles the request that a JSON-RPC response belongs to. Ignores a response without an open request. */
  settle(response: JsonObject): void;
}

const KEEP_ALIVE_MS = 25_000;

export function clientRequests(ttlMs = STATE_TTL_MS): ClientRequests {
  const open = new Map<string, PromiseWithResolvers<JsonObject>>();
  let sent = 0;

  return {
    async send({ method, params = {} }, stream, signal) {
      if (signal.aborted) throw cancelled();
      const id = `heddle-${++sent}`;
      const pending = Promise.withResolvers<JsonObject>();
      if (!stream.send({ jsonrpc: '2.0', id, method, params })) throw disconnected();
      const cancel = (error: Error) => {
        const reason = error.message;
        stream.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason } });
        pending.reject(error);
      };
      const onAbort = () => cancel(cancelled());
      signal.addEventListener('abort', onAbort, { once: true });
      const timer = setTimeout(() => cancel(timedOut(ttlMs)), ttlMs).unref();
      const keepAlive = setInterval(() => stream.keepAlive(), KEEP_ALIVE_MS).unref();
      open.set(id, pending);
      try {
        return await pending.promise;
      } finally {
        open.delete(id);
        clearTimeout(timer);
        clearInterval(keepAlive);
        signal.removeEventListener('abort', onAbort);
      }
    },
    settle({ id, result, error }) {
      const pending = typeof id === 'string' ? open.get(id) : undefined;
      if (isObject(result)) pending?.resolve(result);
      else pending?.reject(RpcError.fromError(error));
    },
  };
}

const cancelled = () => new HeddleError('CALL_CANCELLED', 'The call was cancelled while it waited for the user.');
const disconnected = () => new HeddleError('CALL_CANCELLED', 'The client disconnected before the user could respond.');
const timedOut = (ttlMs: number) =>
  new UpstreamError('UPSTREAM_TIMEOUT', `The user did not answer within ${ttlMs} ms, so the call was cancelled.`, {
    delivered: 'maybe',
    fix: 'Check whether the call had effects, then call again.',
  });
