import type { Timer } from '../../core/time.ts';
import { PRIMED_STREAM_VERSION } from '../../wire/mcp.ts';
import { revalidateCredential } from '../auth/revalidate-credential.ts';
import type { AuthenticatedRequest } from '../http-request.ts';
import { KEEP_ALIVE_COMMENT, type ResponseWriter } from '../response-writer.ts';
import { header } from './read-message.ts';
import { notifySession, type Session, type Sessions } from './sessions.ts';

/** Handles GET: opens the notification stream of a legacy session, or resumes a stream by `Last-Event-ID`. */
export function openStream(incoming: AuthenticatedRequest, session: Session | undefined, timer: Timer): void {
  const { request, response } = incoming;
  if (!session) {
    const isUnknown = header(request, 'mcp-session-id') !== undefined;
    response.writeHead(isUnknown ? 404 : 405, { allow: 'POST, DELETE' }).end();
    return;
  }
  const lastId = header(request, 'last-event-id');
  const missed = lastId === undefined ? undefined : session.events.after(lastId);
  if (lastId !== undefined && !missed) {
    response.writeHead(400).end();
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders(); // The first event may come much later.
  const stopChecks = revalidateCredential(incoming.isStillAuthorized, timer, {
    onValid: () => void (response.writableEnded || response.write(KEEP_ALIVE_COMMENT)),
    onRevoked: () => (missed ? response.destroy() : response.end()), // Destroying cancels the resumed request.
  });
  response.once('close', stopChecks);
  for (const event of missed?.events ?? []) response.write(event);
  if (!missed) openNotificationStream(response, session);
  else if (missed.resume) missed.resume(response);
  else response.end();
}

function openNotificationStream(response: ResponseWriter, session: Session): void {
  session.notifications ??= session.events.begin((next) => {
    for (const broken of session.streams) broken.destroy(); // The client reconnected, so its earlier streams are dead.
    addStream(next, session);
  });
  response.write(isPrimed(session) ? session.notifications.keep('') : ': open\n\n');
  addStream(response, session);
}

/** Tells whether streams begin with an event without data. Clients before 2025-11-25 would fail to parse it. */
export const isPrimed = ({ version }: Session): boolean => version === PRIMED_STREAM_VERSION;

function addStream(response: ResponseWriter, session: Session): void {
  session.streams.add(response);
  response.once('close', () => {
    session.streams.delete(response);
    session.renew();
  });
}

/** Notifies every matching legacy session. Modern clients get changes through `subscriptions/listen`. */
export function announceToSessions(sessions: Sessions, method: string, isFor: (session: Session) => boolean): void {
  for (const session of sessions.all()) if (isFor(session)) notifySession(session, { jsonrpc: '2.0', method });
}
