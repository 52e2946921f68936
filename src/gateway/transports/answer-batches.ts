import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { type RequestId, toIdInUse } from '../../wire/incoming-requests.ts';
import type { Message } from '../../wire/json-rpc.ts';
import type { Transport } from '../../wire/transport.ts';
import { type ClientTransport, isMessage, notOneMessage } from './client-transport.ts';

interface Batch {
  /** Number of requests without a response. */
  pending: number;
  readonly responses: JsonObject[];
  /** Size of the responses, which counts as unsent until the last one has come. */
  held: number;
}

/** Answers each batch of a client with one array of responses. Other messages pass unchanged. */
export function answerBatches(inner: ClientTransport): Transport {
  const open = new Map<unknown, Batch>();

  function settle(id: unknown, response?: JsonObject): Promise<void> {
    const batch = open.get(id) as Batch;
    open.delete(id);
    if (response) {
      const bytes = JSON.stringify(response).length;
      batch.responses.push(response);
      batch.held += bytes;
      inner.countUnsent(bytes);
    }
    batch.pending -= 1;
    return sendIfComplete(batch);
  }

  async function sendIfComplete({ pending, responses, held }: Batch): Promise<void> {
    if (pending > 0 || responses.length === 0) return;
    const sent = inner.send(responses as unknown as Message);
    inner.countUnsent(-held);
    await sent;
  }

  const outer: Transport = {
    start: () => inner.start(),
    close: () => inner.close(),
    send(message) {
      const isResponse = open.size > 0 && message.method === undefined && open.has(message.id);
      return isResponse ? settle(message.id, message) : inner.send(message);
    },
  };

  function pass(message: Message): void {
    outer.onmessage?.(message);
    // A cancelled request gets no response: its batch must not wait for one.
    const { method, params } = message;
    const cancelled = method === 'notifications/cancelled' && isObject(params) ? params.requestId : undefined;
    if (cancelled !== undefined && open.has(cancelled)) settle(cancelled).catch(() => {}); // The client has disconnected.
  }

  /** Tests whether a message is a request with the id of a request in an unanswered batch. */
  const isIdInUse = ({ id, method }: Message) => method !== undefined && id !== undefined && open.has(id);

  inner.onmessage = (message) => {
    if (open.size === 0 || !isIdInUse(message)) return pass(message);
    inner.send(toIdInUse(message.id as RequestId)).catch(() => {}); // The client has disconnected.
  };
  inner.onclose = () => outer.onclose?.();
  inner.onerror = (error) => outer.onerror?.(error);
  inner.onbatch = (elements) => {
    const responses = elements.filter((one) => !isMessage(one)).map(notOneMessage);
    const batch: Batch = { pending: 0, responses, held: 0 };
    const passed: Message[] = [];
    for (const message of elements.filter(isMessage)) {
      if (isIdInUse(message)) {
        batch.responses.push(toIdInUse(message.id as RequestId));
        continue;
      }
      passed.push(message);
      if (message.id === undefined || message.method === undefined) continue;
      open.set(message.id, batch);
      batch.pending += 1;
    }
    sendIfComplete(batch).catch(() => {}); // The client has disconnected.
    passed.forEach(pass);
  };
  return outer;
}
