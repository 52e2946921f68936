import type { ServerResponse } from 'node:http';
import type { Call, Caller, JsonObject } from '../../core/call.ts';
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
import { ROOTS_CHANGED } from '../methods/roots-changed.ts';
import { type RequestContext, type RequestHandler, UnknownMethod } from '../request-context.ts';
import type { ResponseWriter } from '../response-writer.ts';
import { HeaderMismatch } from '../to-rpc-error.ts';
import { handleBatch } from './batch.ts';
import { checkModernRequest, isModern, paramHeadersOf, type RequestRefusal } from './check-headers.ts';
import { type Body, header, type ParsedBody, readPost, toMessage } from './read-message.ts';
import { Reply } from './reply.ts';
import { isPrimed, openStream } from './session-stream.ts';
import { type Session, type Sessions, TooManySessions } from './sessions.ts';

export interface StreamableHttpOptions {
  readonly handleRequest: RequestHandler;
  readonly sessions: Sessions;
  /** Called when a client announces that its roots have changed. */
  readonly onRootsChanged: (session: Session, caller: Caller) => void;
  readonly maxBodyBytes: number;
  readonly timer?: Timer | undefined;
}

/** The Streamable HTTP endpoint. Both methods settle when the response is written, and reject if that failed. */
export interface StreamableHttp {
  handle(incoming: AuthenticatedRequest): Promise<void> | void;
  /** Handles a request whose method is POST. */
  post(incoming: PostRequest): Promise<void> | void;
}

/** A posted JSON-RPC request or notification. */
interface PostedMessage extends Omit<PostRequest, 'response'> {
  readonly response: ResponseWriter;
  readonly id: string | number | undefined;
  readonly method: string;
  readonly params: JsonObject;
  readonly reply: Reply;
}

interface RespondOptions {
  readonly era: Era;
  readonly id: string | number;
  readonly session?: Session;
  readonly headersFor?: HeadersForResult;
  readonly paramHeaders?: Call['paramHeaders'];
}

/** Computes the HTTP headers of a response from its JSON-RPC result. */
type HeadersForResult = (result: JsonObject) => Record<string, string>;

const REVOKED = { status: 401, code: INVALID_REQUEST, message: 'The credential is unknown, revoked or expired.' };
const NO_SESSION = { status: 404, code: SESSION_NOT_FOUND, message: 'There is no such session. Initialize again.' };

/** Serves MCP over Streamable HTTP: legacy sessions and modern stateless requests on one path. */
export function streamableHttp(options: StreamableHttpOptions): StreamableHttp {
  const { sessions, timer = realTimer } = options;
  const respond = responder(options.handleRequest);
  const sessionOf = sessionFinder(sessions);
  const postLegacy = legacyPosts(options, respond);

  // Promise chains instead of async functions: each async function costs every call about 0.5 kB.
  function post(incoming: PostRequest): Promise<void> | void {
    const body = readPost(incoming, options.maxBodyBytes);
    return body instanceof Promise ? body.then((read) => handleBody(incoming, read)) : handleBody(incoming, body);
  }

  function handleBody(incoming: PostRequest, posted: ParsedBody): Promise<void> | void {
    if (incoming.response.destroyed) return; // The client disconnected during authentication.
    const body = toMessage(posted);
    if ('batch' in body) {
      const session = sessionOf(incoming);
      const batch = { version: session?.version, messages: body.batch };
      return handleBatch(incoming.response, batch, (part) =>
        'clientResponse' in part
          ? acceptClientResponse(part.response, session, part.clientResponse)
          : postLegacy({ ...incoming, ...part }),
      );
    }
    if ('refusal' in body) return new Reply(incoming.response, null).error(body.refusal, { connection: 'close' });
    if ('clientResponse' in body)
      return acceptClientResponse(incoming.response, sessionOf(incoming), body.clientResponse);
    const message = toPostedMessage(incoming, body);
    return isModern(incoming.request.headers, body.params) ? postModern(message) : postLegacy(message);
  }

  function postModern(message: PostedMessage): Promise<void> | void {
    const { request, response, id, method, params, reply } = message;
    if (id === undefined) {
      response.writeHead(202).end(); // No modern client notification has an effect over HTTP.
      return;
    }
    const refusal = checkModernRequest(request.headers, method, params);
    if (refusal) return reply.error(refusal);
    if (method === 'subscriptions/listen') {
      response.once(
        'close',
        revalidateCredential(message.isStillAuthorized, timer, {
          onValid() {},
          onRevoked: () => reply.cancelWith(REVOKED),
        }),
      );
    }
    const paramHeaders = method === 'tools/call' ? paramHeadersOf(request.headers) : undefined;
    return respond(message, { era: 'modern', id, paramHeaders });
  }

  function handle(incoming: AuthenticatedRequest): Promise<void> | void {
    const { request, response } = incoming;
    if (request.method === 'POST') return post(incoming);
    if (request.method === 'GET') return openStream(incoming, sessionOf(incoming), timer);
    if (request.method === 'DELETE') return endSession(response, sessions, sessionOf(incoming));
    response.writeHead(405, { allow: 'GET, POST, DELETE' }).end();
  }

  return { post, handle };
}

type FindSession = (incoming: Pick<PostRequest, 'request' | 'caller'>) => Session | undefined;

const sessionFinder =
  (sessions: Sessions): FindSession =>
  ({ request, caller }) =>
    sessions.find(header(request, 'mcp-session-id'), caller);

/** Returns the handler of messages that legacy clients post. */
function legacyPosts({ sessions, onRootsChanged }: StreamableHttpOptions, respond: ReturnType<typeof responder>) {
  const sessionOf = sessionFinder(sessions);

  function postLegacy(message: PostedMessage): Promise<void> | void {
    const { response, caller, id, method, params, reply } = message;
    const session = method === 'initialize' ? undefined : sessionOf(message);
    const refusal = checkLegacy(message.request, method, session);
    if (refusal) return reply.error(refusal);
    if (id !== undefined) return respondLegacy(message, id, session);
    if (method === 'notifications/cancelled') cancel(session, params.requestId);
    if (method === ROOTS_CHANGED && session) onRootsChanged(session, caller);
    response.writeHead(202).end();
  }

  function respondLegacy(
    message: PostedMessage,
    id: string | number,
    session: Session | undefined,
  ): Promise<void> | void {
    const { method, reply } = message;
    if (method === 'initialize')
      return respond(message, { era: 'legacy', id, headersFor: newSession(sessions, message) });
    if (!session) return respond(message, { era: 'legacy', id });
    if (session.running.has(id)) {
      return reply.error({ status: 400, code: INVALID_REQUEST, message: `The id ${shortened(id)} is in use.` });
    }
    trackReply(session, id, reply);
    return respond(message, { era: 'legacy', id, session });
  }

  return postLegacy;
}

function toPostedMessage(
  incoming: PostRequest,
  { id, method, params }: Extract<Body, { method: unknown }>,
): PostedMessage {
  const { request, response, caller, isStillAuthorized } = incoming;
  return { request, response, caller, isStillAuthorized, id, method, params, reply: new Reply(response, id ?? null) };
}

/** Returns a function that runs a request and writes its result or error. */
function responder(handleRequest: RequestHandler) {
  return function respond(message: PostedMessage, options: RespondOptions): Promise<void> | void {
    const { method, params, reply } = message;
    const { era, id, session, headersFor } = options;

    function onResult(result: JsonObject): void {
      if (session) untrackReply(session, id);
      if (reply.signal.aborted) return;
      try {
        reply.result(result, headersFor?.(result));
      } catch (thrown) {
        onError(thrown);
      }
    }

    function onError(thrown: unknown): void {
      if (session) untrackReply(session, id);
      if (!reply.signal.aborted) reply.error(toRefusal(thrown, era));
    }

    try {
      return handleRequest(method, params, toContext(message, options)).then(onResult, onError);
    } catch (thrown) {
      onError(thrown);
    }
  };
}

function toContext({ caller, params, reply }: PostedMessage, options: RespondOptions): RequestContext {
  const { era, id, session, paramHeaders } = options;
  const { signal } = reply;
  const notify = (name: string, details: JsonObject) => reply.notify(name, details);
  const client = era === 'modern' ? { capabilities: capabilitiesInMeta(params) } : sessionContext(session, reply);
  return { id, era, caller, signal, notify, ...client, paramHeaders };
}

/** Returns the context that a session adds. Server-to-client requests go out on the stream of the related request. */
function sessionContext(
  session: Session | undefined,
  reply: Reply,
): Pick<RequestContext, 'capabilities' | 'sendRequest' | 'subscriptions' | 'logging' | 'notifyLater' | 'inSession'> {
  if (!session) return {};
  const { capabilities, clientRequests, subscriptions, logging, notify, inSession } = session;
  return {
    capabilities,
    sendRequest: (inputRequest, signal) => clientRequests.send(inputRequest, reply, signal),
    subscriptions,
    logging,
    notifyLater: notify,
    inSession,
  };
}

/** Settles the server-to-client request that a posted JSON-RPC response belongs to. Its call runs in another request. */
function acceptClientResponse(response: ResponseWriter, session: Session | undefined, message: JsonObject): void {
  session?.clientRequests.settle(message);
  if (session) response.writeHead(202).end();
  else new Reply(response, null).error(NO_SESSION);
}

/** Opens a session after `initialize` and returns its `Mcp-Session-Id` header. */
const newSession =
  (sessions: Sessions, { caller, params }: PostedMessage): HeadersForResult =>
  ({ protocolVersion }) => {
    const init = { version: String(protocolVersion), capabilities: parseClientCapabilities(params.capabilities) };
    return { 'mcp-session-id': sessions.open(caller, init).id };
  };

function trackReply(session: Session, id: string | number, reply: Reply): void {
  session.running.set(id, reply);
  reply.makeResumable(session.events, isPrimed(session));
}

function untrackReply(session: Session, id: string | number): void {
  session.running.delete(id);
  session.renew();
}

function endSession(response: ServerResponse, sessions: Sessions, session: Session | undefined): void {
  if (session) sessions.end(session);
  response.writeHead(session ? 200 : 404).end();
}

const shortened = (id: string | number) => JSON.stringify(id).slice(0, 100);

function checkLegacy(request: RequestHead, method: string, session: Session | undefined): RequestRefusal | undefined {
  const version = header(request, 'mcp-protocol-version');
  if (version !== undefined && !LEGACY_VERSIONS.some((known) => known === version)) {
    return {
      status: 400,
      code: INVALID_REQUEST,
      message: `The protocol version ${version.slice(0, 40)} is not supported.`,
    };
  }
  // A request without `Mcp-Session-Id` is served too. Its client cannot cancel it or receive later notifications.
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

/** Returns the HTTP status of an error. A method that only a server does not support gets 200, not 404. */
function statusOf(thrown: RpcError, era: Era): number {
  if (thrown instanceof TooManySessions) return 429;
  if (era === 'legacy') return 200;
  if (thrown instanceof UnknownMethod) return 404;
  return thrown instanceof HeaderMismatch || thrown.code === MISSING_CAPABILITY ? 400 : 200;
}
