import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { INVALID_REQUEST, PARSE_ERROR } from '../../wire/mcp.ts';
import { readBody } from '../http/read-message.ts';
import { Reply } from '../http/reply.ts';
import { sessionOwner } from '../http/streamable-http.ts';
import type { AuthenticatedRequest } from '../http-request.ts';
import type { ClientConnections } from './client-connections.ts';
import { readText, receive } from './client-transport.ts';
import { SseServerTransport } from './sse-transport.ts';

export interface SseEndpoint {
  isFor(request: IncomingMessage): boolean;
  receive(arrival: AuthenticatedRequest): Promise<void> | void;
}

const pathOf = ({ url = '' }: IncomingMessage) => url.split('?', 1)[0] ?? '';

/** MCP as it was first spoken over HTTP: `/sse` is where a client hears, `/messages` where it posts what it says. */
export function sseEndpoint(lines: ClientConnections, maxBodyBytes: number): SseEndpoint {
  // A line belongs to the caller who opened it: to anyone else it does not exist.
  const open = new Map<string, { readonly line: SseServerTransport; readonly holder: string }>();

  async function listen(arrival: AuthenticatedRequest): Promise<void> {
    const { request, response, caller } = arrival;
    const id = randomUUID();
    const endpoint = `${pathOf(request).replace('/sse', '/messages')}?sessionId=${id}`;
    const line = new SseServerTransport(response, endpoint);
    open.set(id, { line, holder: sessionOwner(caller) });
    try {
      await lines.serve(arrival, line);
    } finally {
      open.delete(id);
    }
  }

  async function post({ request, response, caller }: AuthenticatedRequest): Promise<void> {
    const id = new URLSearchParams(request.url?.split('?')[1]).get('sessionId');
    const found = open.get(id ?? '');
    if (!found || found.holder !== sessionOwner(caller)) return refuse(response, 404, 'There is no such session.');
    if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
      return refuse(response, 415, 'Content-Type has to be application/json.');
    }
    const text = await readBody(request, maxBodyBytes);
    if (text === undefined) return refuse(response, 413, `The body is larger than ${maxBodyBytes} bytes.`);
    const said = readText(text);
    if (said === undefined) return refuse(response, 400, 'The message is not acceptable JSON.', PARSE_ERROR);
    response.writeHead(202).end();
    receive(said, found.line);
  }

  return {
    isFor: (request) => /^\/(sse|messages)(\/|$)/.test(pathOf(request)),
    receive(arrival) {
      const { request, response } = arrival;
      const hears = pathOf(request).startsWith('/sse');
      if (request.method === (hears ? 'GET' : 'POST')) return hears ? listen(arrival) : post(arrival);
      response.writeHead(405, { allow: hears ? 'GET' : 'POST' }).end();
    },
  };
}

function refuse(response: ServerResponse, status: number, message: string, code = INVALID_REQUEST): void {
  new Reply(response, null).error({ status, code, message }, { connection: 'close' });
}
