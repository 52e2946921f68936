import type { InputRequest, JsonObject } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { STATE_TTL_MS } from '../continuations/request-state.ts';

/** The stream of the request that a question belongs to. */
export interface ClientRequestStream {
  /** False when the client cannot be told any more. */
  send(message: JsonObject): boolean;
  /** Shows whatever lies between that somebody still waits. */
  keepAlive(): void;
}

/** What one client was asked and has not answered yet. Its answers come by themselves, on requests of their own. */
export interface ClientRequests {
  send(question: InputRequest, stream: ClientRequestStream, signal: AbortSignal): Promise<JsonObject>;
  /** Takes an answer; what nobody waits for any more is dropped. */
  settle(answer: JsonObject): void;
}

const KEEP_ALIVE_MS = 25_000;

export function clientRequests(ttlMs = STATE_TTL_MS): ClientRequests {
  const open = new Map<string, PromiseWithResolvers<JsonObject>>();
  let asked = 0;

  return {
    async send({ method, params = {} }, stream, signal) {
      if (signal.aborted) throw cancelled();
      const id = `heddle-${++asked}`;
      const waiting = Promise.withResolvers<JsonObject>();
      if (!stream.send({ jsonrpc: '2.0', id, method, params })) throw gone();
      const withdraw = (error: Error) => {
        const reason = error.message;
        stream.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason } });
        waiting.reject(error);
      };
      const onAbort = () => withdraw(cancelled());
      signal.addEventListener('abort', onAbort, { once: true });
      const timer = setTimeout(() => withdraw(unanswered(ttlMs)), ttlMs).unref();
      const alive = setInterval(() => stream.keepAlive(), KEEP_ALIVE_MS).unref();
      open.set(id, waiting);
      try {
        return await waiting.promise;
      } finally {
        open.delete(id);
        clearTimeout(timer);
        clearInterval(alive);
        signal.removeEventListener('abort', onAbort);
      }
    },
    settle({ id, result, error }) {
      const waiting = typeof id === 'string' ? open.get(id) : undefined;
      if (isObject(result)) waiting?.resolve(result);
      else waiting?.reject(RpcError.fromError(error));
    },
  };
}

const cancelled = () => new HeddleError('CALL_CANCELLED', 'The call was cancelled while the user was asked.');
const gone = () => new HeddleError('CALL_CANCELLED', 'The client left, so the user could not be asked.');
const unanswered = (ttlMs: number) =>
  new UpstreamError('UPSTREAM_TIMEOUT', `The user did not answer within ${ttlMs} ms, so the call was cancelled.`, {
    delivered: 'maybe',
    fix: 'Look whether the call has had effects, then call again.',
  });
