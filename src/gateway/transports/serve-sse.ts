import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { INVALID_REQUEST, PARSE_ERROR } from '../../wire/mcp.ts';
import { readBody } from '../http/read-message.ts';
import { Reply } from '../http/reply.ts';
import { sessionOwner } from '../http/sessions.ts';
import type { AuthenticatedRequest } from '../http-request.ts';
import type { UnsentBytes } from '../unsent-bytes.ts';
import type { ClientConnections } from './client-connections.ts';
import { parseText, receiveParsed } from './client-transport.ts';
import { SseServerTransport } from './sse-transport.ts';

export interface SseEndpoint {
  isFor(request: IncomingMessage): boolean;
  handle(request: AuthenticatedRequest): Promise<void> | void;
}

const pathOf = ({ url = '' }: IncomingMessage) => url.split('?', 1)[0] ?? '';

/** Serves HTTP+SSE, the transport of 2024-11-05: `GET /sse` opens the event stream, `POST /messages` takes messages. */
export function sseEndpoint(connections: ClientConnections, maxBodyBytes: number, unsent: UnsentBytes): SseEndpoint {
  // A session belongs to the caller that opened it. Other callers get 404.
  const sessions = new Map<string, { readonly transport: SseServerTransport; readonly owner: string }>();

  async function openStream(authenticated: AuthenticatedRequest): Promise<void> {
    const { request, response, caller } = authenticated;
    const id = randomUUID();
    const endpoint = `${pathOf(request).replace('/sse', '/messages')}?sessionId=${id}`;
    const transport = new SseServerTransport(response, endpoint, (held = 0) =>
      unsent.count(request.socket, caller.id, held),
    );
    sessions.set(id, { transport, owner: sessionOwner(caller) });
    try {
      await connections.serve(authenticated, transport);
    } finally {
      sessions.delete(id);
    }
  }

  async function receivePost({ request, response, caller }: AuthenticatedRequest): Promise<void> {
    const id = new URLSearchParams(request.url?.split('?')[1]).get('sessionId');
    const session = sessions.get(id ?? '');
    if (!session || session.owner !== sessionOwner(caller)) return refuse(response, 404, 'There is no such session.');
    if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
      return refuse(response, 415, 'Content-Type has to be application/json.');
    }
    const text = await readBody(request, maxBodyBytes);
    if (text === undefined) return refuse(response, 413, `The body is larger than ${maxBodyBytes} bytes.`);
    const message = parseText(text);
    if (message === undefined) return refuse(response, 400, 'The message is not acceptable JSON.', PARSE_ERROR);
    response.writeHead(202).end();
    receiveParsed(message, session.transport);
  }

  return {
    isFor: (request) => /^\/(sse|messages)(\/|$)/.test(pathOf(request)),
    handle(authenticated) {
      const { request, response } = authenticated;
      const isStream = pathOf(request).startsWith('/sse');
      if (request.method === (isStream ? 'GET' : 'POST')) {
        return isStream ? openStream(authenticated) : receivePost(authenticated);
      }
      response.writeHead(405, { allow: isStream ? 'GET' : 'POST' }).end();
    },
  };
}

function refuse(response: ServerResponse, status: number, message: string, code = INVALID_REQUEST): void {
  new Reply(response, null).error({ status, code, message }, { connection: 'close' });
}
