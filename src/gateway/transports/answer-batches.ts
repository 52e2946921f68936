import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { type RequestId, toIdInUse } from '../../wire/incoming-requests.ts';
import type { Message, Transport } from '../../wire/json-rpc.ts';
import { type ClientTransport, isMessage, notOneMessage } from './client-transport.ts';

interface Batch {
  /** The requests that are still to be answered. */
  left: number;
  readonly responses: JsonObject[];
}

/** Answers each batch of a client with one array, as JSON-RPC has it. All other messages pass as they are. */
export function answerBatches(line: ClientTransport): Transport {
  const open = new Map<unknown, Batch>();

  function settle(id: unknown, response?: JsonObject): Promise<void> {
    const batch = open.get(id) as Batch;
    open.delete(id);
    if (response) batch.responses.push(response);
    batch.left -= 1;
    return finish(batch);
  }

  async function finish({ left, responses }: Batch): Promise<void> {
    if (left === 0 && responses.length > 0) await line.send(responses as unknown as Message);
  }

  const outer: Transport = {
    start: () => line.start(),
    close: () => line.close(),
    send(message) {
      const isResponse = open.size > 0 && message.method === undefined && open.has(message.id);
      return isResponse ? settle(message.id, message) : line.send(message);
    },
  };

  function pass(message: Message): void {
    outer.onmessage?.(message);
    // A cancelled request gets no response: its batch must not wait for one.
    const { method, params } = message;
    const cancelled = method === 'notifications/cancelled' && isObject(params) ? params.requestId : undefined;
    if (cancelled !== undefined && open.has(cancelled)) settle(cancelled).catch(() => {}); // The client has left.
  }

  /** Tells whether a message is a request with the id of a request in an unanswered batch. */
  const isIdInUse = ({ id, method }: Message) => method !== undefined && id !== undefined && open.has(id);

  line.onmessage = (message) => {
    if (open.size === 0 || !isIdInUse(message)) return pass(message);
    line.send(toIdInUse(message.id as RequestId)).catch(() => {}); // The client has left.
  };
  line.onclose = () => outer.onclose?.();
  line.onerror = (error) => outer.onerror?.(error);
  line.onbatch = (said) => {
    const batch: Batch = { left: 0, responses: said.filter((one) => !isMessage(one)).map(notOneMessage) };
    const passed: Message[] = [];
    for (const message of said.filter(isMessage)) {
      if (isIdInUse(message)) {
        batch.responses.push(toIdInUse(message.id as RequestId));
        continue;
      }
      passed.push(message);
      if (message.id === undefined || message.method === undefined) continue;
      open.set(message.id, batch);
      batch.left += 1;
    }
    finish(batch).catch(() => {}); // The client has left.
    passed.forEach(pass);
  };
  return outer;
}
