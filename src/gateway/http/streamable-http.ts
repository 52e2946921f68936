import type { ServerResponse } from 'node:http';
import type { Caller, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { realTimer, type Timer } from '../../core/time.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import {
  type Era,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  LEGACY_VERSIONS,
  MISSING_CAPABILITY,
  SESSION_NOT_FOUND,
} from '../../wire/mcp.ts';
import { revalidateCredential } from '../auth/revalidate-credential.ts';
import type { AuthenticatedRequest, PostRequest, RequestHead } from '../http-request.ts';
import { capabilitiesInMeta, parseClientCapabilities } from '../methods/client-capabilities.ts';
import { type RequestContext, type RequestHandler, UnknownMethod } from '../request-context.ts';
import type { ResponseWriter } from '../response-writer.ts';
import { handleBatch } from './batch.ts';
import { checkModernRequest, checkParamHeaders, isModern, type RequestRefusal } from './check-headers.ts';
import { type Body, header, type ParsedBody, readPost, toMessage } from './read-message.ts';
import { Reply } from './reply.ts';
import { isPrimed, openStream } from './session-stream.ts';
import { type Session, type Sessions, TooManySessions } from './sessions.ts';

export interface StreamableHttpOptions {
  readonly answer: RequestHandler;
  readonly sessions: Sessions;
  readonly maxBodyBytes: number;
  readonly timer?: Timer | undefined;
}

/** Both settle when the request is answered, and reject when that could not be done. */
export interface StreamableHttp {
  handle(arrival: AuthenticatedRequest): Promise<void> | void;
  /** The same for a request that is known to post something. */
  post(posting: PostRequest): Promise<void> | void;
}

interface Received extends Omit<PostRequest, 'response'> {
  readonly response: ResponseWriter;
  readonly id: string | number | undefined;
  readonly method: string;
  readonly params: JsonObject;
  readonly reply: Reply;
}

interface Request {
  readonly era: Era;
  readonly id: string | number;
  readonly session?: Session;
  readonly headers?: HeadersOf;
  readonly examined?: Examined | undefined;
}

/** What a call says in its headers. Where that is something else, its client hears so, whatever came of the call. */
interface Examined {
  readonly examine: (definition: JsonObject) => void;
  readonly refusal: () => RequestRefusal | undefined;
}

type HeadersOf = (result: JsonObject) => Record<string, string>;

const REVOKED = { status: 401, code: INVALID_REQUEST, message: 'The credential is unknown, revoked or expired.' };
const NO_SESSION = { status: 404, code: SESSION_NOT_FOUND, message: 'There is no such session. Initialize again.' };

/** MCP over HTTP: legacy sessions and modern stateless requests on one path, no framework between. */
export function streamableHttp(options: StreamableHttpOptions): StreamableHttp {
  const { sessions, timer = realTimer } = options;
  const respond = responder(options.answer);
  const sessionOf = finder(sessions);
  const postLegacy = legacyPosts(sessions, respond);

  // Every call comes this way, and each function that is async costs it half a kilobyte: these are chains.
  function post(posting: PostRequest): Promise<void> | void {
    const posted = readPost(posting, options.maxBodyBytes);
    return posted instanceof Promise ? posted.then((read) => take(posting, read)) : take(posting, posted);
  }

  function take(arrival: PostRequest, posted: ParsedBody): Promise<void> | void {
    if (arrival.response.destroyed) return; // Whoever left while it was looked up who they are wants nothing done.
    const body = toMessage(posted);
    if ('batch' in body) {
      const session = sessionOf(arrival);
      const batch = { version: session?.version, messages: body.batch };
      return handleBatch(arrival.response, batch, (one) =>
        'answer' in one ? takeAnswer(one.response, session, one.answer) : postLegacy({ ...arrival, ...one }),
      );
    }
    if ('refusal' in body) return new Reply(arrival.response, null).error(body.refusal, { connection: 'close' });
    if ('answer' in body) return takeAnswer(arrival.response, sessionOf(arrival), body.answer);
    const received = toReceived(arrival, body);
    return isModern(arrival.request.headers, body.params) ? postModern(received) : postLegacy(received);
  }

  function postModern(received: Received): Promise<void> | void {
    const { request, response, id, method, params, reply } = received;
    if (id === undefined) {
      response.writeHead(202).end(); // Nothing a modern client can notify concerns us over HTTP.
      return;
    }
    const refusal = checkModernRequest(request.headers, method, params);
    if (refusal) return reply.error(refusal);
    if (method === 'subscriptions/listen') {
      response.once(
        'close',
        revalidateCredential(received.isStillAuthorized, timer, { stay() {}, leave: () => reply.cancelWith(REVOKED) }),
      );
    }
    const examined = method === 'tools/call' ? examiner(received) : undefined;
    return respond(received, { era: 'modern', id, examined });
  }

  function handle(arrival: AuthenticatedRequest): Promise<void> | void {
    const { request, response } = arrival;
    if (request.method === 'POST') return post(arrival);
    if (request.method === 'GET') return openStream(arrival, sessionOf(arrival), timer);
    if (request.method === 'DELETE') return endSession(response, sessions, sessionOf(arrival));
    response.writeHead(405, { allow: 'GET, POST, DELETE' }).end();
  }

  return { post, handle };
}

type FindSession = (posting: Pick<PostRequest, 'request' | 'caller'>) => Session | undefined;

const finder =
  (sessions: Sessions): FindSession =>
  ({ request, caller }) =>
    sessions.find(header(request, 'mcp-session-id'), sessionOwner(caller));

/** Answers what clients of the older era post. */
function legacyPosts(sessions: Sessions, respond: ReturnType<typeof responder>) {
  const sessionOf = finder(sessions);

  function postLegacy(received: Received): Promise<void> | void {
    const { response, id, method, params, reply } = received;
    const session = method === 'initialize' ? undefined : sessionOf(received);
    const refusal = checkLegacy(received.request, method, session);
    if (refusal) return reply.error(refusal);
    if (id !== undefined) return respondLegacy(received, id, session);
    if (method === 'notifications/cancelled') cancel(session, params.requestId);
    response.writeHead(202).end();
  }

  function respondLegacy(received: Received, id: string | number, session: Session | undefined): Promise<void> | void {
    const { method, reply } = received;
    if (method === 'initialize')
      return respond(received, { era: 'legacy', id, headers: newSession(sessions, received) });
    if (!session) return respond(received, { era: 'legacy', id });
    if (session.running.has(id)) {
      return reply.error({ status: 400, code: INVALID_REQUEST, message: `The id ${shortened(id)} is in use.` });
    }
    begin(session, id, reply);
    return respond(received, { era: 'legacy', id, session });
  }

  return postLegacy;
}

function toReceived(arrival: PostRequest, { id, method, params }: Extract<Body, { method: unknown }>): Received {
  const { request, response, caller, isStillAuthorized } = arrival;
  return { request, response, caller, isStillAuthorized, id, method, params, reply: new Reply(response, id ?? null) };
}

/** Answers one request in its era, whatever becomes of it. */
function responder(answer: RequestHandler) {
  return function respond(received: Received, request: Request): Promise<void> | void {
    const { method, params, reply } = received;
    const { era, id, session, headers, examined } = request;

    function answered(result: JsonObject): void {
      session?.running.delete(id);
      if (reply.signal.aborted) return;
      try {
        const refusal = examined?.refusal();
        if (refusal) reply.error(refusal);
        else reply.result(result, headers?.(result));
      } catch (thrown) {
        failed(thrown);
      }
    }

    function failed(thrown: unknown): void {
      session?.running.delete(id);
      if (!reply.signal.aborted) reply.error(examined?.refusal() ?? toRefusal(thrown, era));
    }

    try {
      return answer(method, params, askedIn(received, request)).then(answered, failed);
    } catch (thrown) {
      failed(thrown);
    }
  };
}

function askedIn({ caller, params, reply }: Received, { era, id, session, examined }: Request): RequestContext {
  const { signal } = reply;
  const notify = (name: string, details: JsonObject) => reply.notify(name, details);
  const user = era === 'modern' ? { capabilities: capabilitiesInMeta(params) } : userOf(session, reply);
  return { id, era, caller, signal, notify, ...user, examine: examined?.examine };
}

/** What a tool wants repeated in headers is written in its definition, which is known once the call has found it. */
function examiner({ request, params }: Received): Examined {
  let refusal: RequestRefusal | undefined;
  return {
    refusal: () => refusal,
    examine(definition: JsonObject): void {
      refusal = checkParamHeaders(request.headers, definition.inputSchema, params.arguments);
      if (refusal) throw new HeddleError('INPUT_INVALID', refusal.message);
    },
  };
}

/** Whoever has a session can be told, and asked on the stream of the request that a question is about. */
function userOf(
  session: Session | undefined,
  reply: Reply,
): Pick<RequestContext, 'capabilities' | 'sendRequest' | 'subscriptions' | 'logging' | 'notifyLater'> {
  if (!session) return {};
  const { capabilities, clientRequests, subscriptions, logging, say: tellLater } = session;
  return {
    capabilities,
    sendRequest: (question, signal) => clientRequests.send(question, reply, signal),
    subscriptions,
    logging,
    notifyLater: tellLater,
  };
}

/** An answer to what we asked: it comes by itself, and the call it belongs to goes on elsewhere. */
function takeAnswer(response: ResponseWriter, session: Session | undefined, said: JsonObject): void {
  session?.clientRequests.settle(said);
  if (session) response.writeHead(202).end();
  else new Reply(response, null).error(NO_SESSION);
}

/** Opens a session with what was agreed on, and names it. */
const newSession =
  (sessions: Sessions, { caller, params }: Received): HeadersOf =>
  ({ protocolVersion }) => {
    const greeting = { version: String(protocolVersion), capabilities: parseClientCapabilities(params.capabilities) };
    return { 'mcp-session-id': sessions.open(sessionOwner(caller), greeting).id };
  };

function begin(session: Session, id: string | number, reply: Reply): void {
  session.running.set(id, reply);
  reply.keepIn(session.events, isPrimed(session));
}

function endSession(response: ServerResponse, sessions: Sessions, session: Session | undefined): void {
  if (session) sessions.end(session);
  response.writeHead(session ? 200 : 404).end();
}

const shortened = (id: string | number) => JSON.stringify(id).slice(0, 100);

/** A session belongs to one caller and one profile: what was asked in the one is not answered in another. */
export const sessionOwner = ({ id, profile }: Caller) => (profile === undefined ? id : JSON.stringify([id, profile]));

function checkLegacy(request: RequestHead, method: string, session: Session | undefined): RequestRefusal | undefined {
  const version = header(request, 'mcp-protocol-version');
  if (version !== undefined && !LEGACY_VERSIONS.some((known) => known === version)) {
    return {
      status: 400,
      code: INVALID_REQUEST,
      message: `The protocol version ${version.slice(0, 40)} is not supported.`,
    };
  }
  // One request without a session is served too: a client that keeps none has nothing to cancel or to be told.
  if (method === 'initialize' || session || header(request, 'mcp-session-id') === undefined) return undefined;
  return NO_SESSION;
}

function cancel(session: Session | undefined, id: unknown): void {
  if (typeof id === 'string' || typeof id === 'number') session?.running.get(id)?.cancel();
}

function toRefusal(thrown: unknown, era: Era): RequestRefusal {
  if (!(thrown instanceof RpcError)) {
    return { status: 200, code: INTERNAL_ERROR, message: HeddleError.from(thrown).message };
  }
  const { code, message, data } = thrown;
  return { status: statusOf(thrown, era), code, message, ...(data !== undefined && { data }) };
}

/** A method that only a server does not know is no reason for the client to think that we do not. */
function statusOf(thrown: RpcError, era: Era): number {
  if (thrown instanceof TooManySessions) return 429;
  if (era === 'legacy') return 200;
  if (thrown instanceof UnknownMethod) return 404;
  return thrown.code === MISSING_CAPABILITY ? 400 : 200;
}
