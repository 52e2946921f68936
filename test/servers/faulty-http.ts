import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JsonObject } from '../../src/core/call.ts';
import { type HttpServer, listen } from './http-servers.ts';

/** Handles one `tools/call` wrongly. `answer` sends the result of a working server. */
export type Fault = (response: ServerResponse, answer: () => void, request: IncomingMessage) => void;

export interface FaultyHttp extends HttpServer {
  /** Faults of the next calls, one per call. Later calls succeed. */
  readonly faults: Fault[];
  /** The number of `tools/call` requests, with faulty ones. */
  readonly calls: () => number;
  readonly handshakes: () => number;
  /** Drops every session, as a restart does. */
  forget(): void;
}

const TOOLS = [
  { name: 'act', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
  { name: 'write', inputSchema: { type: 'object' } },
];

const HELLO = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'faulty', version: '1' },
};
const RESULTS: Readonly<Record<string, JsonObject>> = {
  initialize: HELLO,
  'tools/list': { tools: TOOLS },
  'tools/call': { content: [{ type: 'text', text: 'done' }] },
};

/** Starts a legacy server written without an SDK, so that it can violate the protocol. */
export async function faultyHttp(): Promise<FaultyHttp> {
  const faults: Fault[] = [];
  const methods: string[] = [];
  let session = 1;
  const server = await listen(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as JsonObject;
    methods.push(String(method));
    const answer = () => {
      const headers = { 'content-type': 'application/json', 'mcp-session-id': `session-${session}` };
      const result = RESULTS[String(method)] ?? {};
      response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    };
    const fault = method === 'tools/call' ? faults.shift() : undefined;
    const known = method === 'initialize' || request.headers['mcp-session-id'] === `session-${session}`;
    if (fault) fault(response, answer, request);
    else if (method === 'server/discover') response.writeHead(400).end();
    else if (!known) response.writeHead(404).end();
    else if (id === undefined) response.writeHead(202).end();
    else answer();
  });
  const count = (method: string) => methods.filter((one) => one === method).length;
  return {
    ...server,
    faults,
    calls: () => count('tools/call'),
    handshakes: () => count('initialize'),
    forget: () => void session++,
  };
}

/** Responds with a status, and optionally with headers such as Retry-After. */
export const refuse =
  (status: number, headers: Record<string, string> = {}, body = ''): Fault =>
  (response) =>
    response.writeHead(status, headers).end(body);
