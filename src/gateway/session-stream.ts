import type { IncomingMessage, ServerResponse } from 'node:http';
import { header } from './read-message.ts';
import { MAX_HELD_BYTES, STILL_HERE, toEvent } from './reply.ts';
import type { Session, Sessions } from './sessions.ts';

const KEEP_ALIVE_MS = 25_000;

/** The stream on which a legacy client hears what it did not ask for. */
export function openStream(
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  session: Session | undefined,
): void {
  if (!session) {
    const unknown = header(request, 'mcp-session-id') !== undefined;
    response.writeHead(unknown ? 404 : 405, { allow: 'POST, DELETE' }).end();
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.write(': open\n\n');
  session.streams.add(response);
  const timer = setInterval(() => response.write(STILL_HERE), KEEP_ALIVE_MS).unref();
  response.once('close', () => {
    clearInterval(timer);
    session.streams.delete(response);
  });
}

/** Tells every legacy client that listens. Modern ones hear it on their subscriptions. */
export function announce(sessions: Sessions, method: string): void {
  const event = toEvent({ jsonrpc: '2.0', method });
  for (const { streams } of sessions.all()) {
    for (const stream of streams) if (stream.writableLength <= MAX_HELD_BYTES) stream.write(event);
  }
}
