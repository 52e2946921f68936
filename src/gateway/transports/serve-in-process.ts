import type { Readable, Writable } from 'node:stream';
import { isObject } from '../../core/json.ts';
import type { Message } from '../../wire/json-rpc.ts';
import type { Transport } from '../../wire/transport.ts';
import { DRAIN_MS } from '../in-flight.ts';
import { StdioServerTransport } from './stdio-transport.ts';

export interface Streams {
  readonly input: Readable;
  readonly output: Writable;
  /** Receives the sentence that says why a client that does not read is disconnected. */
  readonly report?: (message: string) => void;
}

/**
 * Serves an in-process MCP server to one client over two streams. When the client ends its input or the signal aborts,
 * requests in flight are still answered.
 */
export async function serveInProcess(
  serve: (transport: Transport) => Promise<void>,
  { input, output, report }: Streams,
  signal: AbortSignal,
): Promise<void> {
  const client = new StdioServerTransport(input, output, { report });
  const { transport, closed, idle } = trackRequests(client);
  await serve(transport);
  const aborted = Promise.withResolvers<void>();
  if (signal.aborted) aborted.resolve();
  signal.addEventListener('abort', () => aborted.resolve(), { once: true });
  await Promise.race([client.ended, aborted.promise, closed]);
  const timer = Promise.withResolvers<void>();
  const deadline = setTimeout(timer.resolve, DRAIN_MS);
  await Promise.race([idle(), timer.promise, closed]);
  clearTimeout(deadline);
  await client.close();
}

/** Wraps a transport so that `idle` resolves once every request of the client is answered or cancelled. */
function trackRequests(client: Transport) {
  const open = new Set<unknown>();
  const closed = Promise.withResolvers<void>();
  let onIdle: (() => void) | undefined;
  const settle = (id: unknown) => {
    open.delete(id);
    if (open.size === 0) onIdle?.();
  };
  const transport: Transport = {
    async start() {
      client.onmessage = (message, origin) => {
        const id = cancelledBy(message);
        if ('method' in message && 'id' in message) open.add(message.id);
        transport.onmessage?.(message, origin);
        if (id !== undefined) settle(id);
      };
      client.onerror = (error) => transport.onerror?.(error);
      client.onclose = () => {
        closed.resolve();
        transport.onclose?.();
      };
      await client.start();
    },
    async send(message, options) {
      await client.send(message, options);
      if (!('method' in message) && 'id' in message) settle(message.id);
    },
    close: () => client.close(),
  };
  const idle = () =>
    new Promise<void>((resolve) => {
      onIdle = resolve;
      if (open.size === 0) resolve();
    });
  return { transport, closed: closed.promise, idle };
}

/** Returns the id of the request that a message cancels. Such a request gets no response. */
function cancelledBy(message: Message): unknown {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return undefined;
  return isObject(message.params) ? message.params.requestId : undefined;
}
