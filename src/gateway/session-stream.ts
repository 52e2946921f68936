import type { Alarm } from '../core/alarm.ts';
import type { Arrival } from './arrival.ts';
import { offer } from './outlet.ts';
import { header } from './read-message.ts';
import { recheck } from './recheck.ts';
import { toEvent } from './reply.ts';
import type { Session, Sessions } from './sessions.ts';

/** The stream on which a legacy client hears what it did not ask for. */
export function openStream(arrival: Arrival, session: Session | undefined, alarm: Alarm): void {
  const { request, response } = arrival;
  if (!session) {
    const unknown = header(request, 'mcp-session-id') !== undefined;
    response.writeHead(unknown ? 404 : 405, { allow: 'POST, DELETE' }).end();
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.write(': open\n\n');
  session.streams.add(response);
  recheck(arrival, alarm, { stay: () => offer(response, ': still here\n\n'), leave: () => response.end() });
  response.once('close', () => session.streams.delete(response));
}

/** Tells every legacy client that listens. Modern ones hear it on their subscriptions. */
export function announce(sessions: Sessions, method: string): void {
  const event = toEvent({ jsonrpc: '2.0', method });
  for (const { streams } of sessions.all()) {
    for (const stream of streams) offer(stream, event);
  }
}
