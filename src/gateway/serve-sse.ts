import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { INVALID_REQUEST, PARSE_ERROR } from '../wire/json-rpc.ts';
import type { Arrival } from './arrival.ts';
import { readText, receive } from './client-line.ts';
import { EventLine } from './event-line.ts';
import { holderOf } from './mcp-http.ts';
import { readBody } from './read-body.ts';
import { Reply } from './reply.ts';
import type { ServedLines } from './served-lines.ts';

export interface SseFace {
  isFor(request: IncomingMessage): boolean;
  receive(arrival: Arrival): Promise<void> | void;
}

const pathOf = ({ url = '' }: IncomingMessage) => url.split('?', 1)[0] ?? '';

/** MCP as it was first spoken over HTTP: `/sse` is where a client hears, `/messages` where it posts what it says. */
export function sseFace(lines: ServedLines, maxBodyBytes: number): SseFace {
  // A line belongs to the caller who opened it: to anyone else it does not exist.
  const open = new Map<string, { readonly line: EventLine; readonly holder: string }>();

  async function listen(arrival: Arrival): Promise<void> {
    const { request, response, caller } = arrival;
    const id = randomUUID();
    const endpoint = `${pathOf(request).replace('/sse', '/messages')}?sessionId=${id}`;
    const line = new EventLine(response, endpoint);
    open.set(id, { line, holder: holderOf(caller) });
    try {
      await lines.serve(arrival, line);
    } finally {
      open.delete(id);
    }
  }

  async function post({ request, response, caller }: Arrival): Promise<void> {
    const id = new URLSearchParams(request.url?.split('?')[1]).get('sessionId');
    const found = open.get(id ?? '');
    if (!found || found.holder !== holderOf(caller)) return refuse(response, 404, 'There is no such session.');
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
