import type { Timer } from '../../core/time.ts';
import { PRIMED_STREAM_VERSION } from '../../wire/mcp.ts';
import { revalidateCredential } from '../auth/revalidate-credential.ts';
import type { AuthenticatedRequest } from '../http-request.ts';
import { KEEP_ALIVE_COMMENT, type ResponseWriter, writeOrDisconnect } from '../response-writer.ts';
import { header } from './read-message.ts';
import { notifySession, type Session, type Sessions } from './sessions.ts';

/** The stream on which a legacy client hears what it did not ask for. */
export function openStream(arrival: AuthenticatedRequest, session: Session | undefined, alarm: Timer): void {
  const { request, response } = arrival;
  if (!session) {
    const unknown = header(request, 'mcp-session-id') !== undefined;
    response.writeHead(unknown ? 404 : 405, { allow: 'POST, DELETE' }).end();
    return;
  }
  const lastId = header(request, 'last-event-id');
  const missed = lastId === undefined ? undefined : session.events.after(lastId);
  if (lastId !== undefined && !missed) {
    response.writeHead(400).end();
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders(); // There may be nothing to say yet.
  const stop = revalidateCredential(arrival.isStillAuthorized, alarm, {
    stay: () => void (response.writableEnded || writeOrDisconnect(response, KEEP_ALIVE_COMMENT)),
    leave: () => (missed ? response.destroy() : response.end()), // What it came back for is cancelled.
  });
  response.once('close', stop);
  for (const event of missed?.events ?? []) response.write(event);
  if (!missed) hear(response, session);
  else if (missed.resume) missed.resume(response);
  else response.end();
}

/** Opens the stream for what nobody asked for. */
function hear(response: ResponseWriter, session: Session): void {
  session.heard ??= session.events.begin((next) => {
    for (const last of session.streams) last.destroy(); // It has told us that this broke.
    listen(next, session);
  });
  response.write(isPrimed(session) ? session.heard.keep('') : ': open\n\n');
  listen(response, session);
}

/** Older clients take an event without data for a broken message. */
export const isPrimed = ({ version }: Session): boolean => version === PRIMED_STREAM_VERSION;

function listen(response: ResponseWriter, session: Session): void {
  session.streams.add(response);
  response.once('close', () => session.streams.delete(response));
}

/** Tells every legacy client that listens and is meant. Modern ones hear it on their subscriptions. */
export function announceToSessions(sessions: Sessions, method: string, isFor: (session: Session) => boolean): void {
  for (const session of sessions.all()) if (isFor(session)) notifySession(session, { jsonrpc: '2.0', method });
}
