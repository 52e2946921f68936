import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JsonObject } from '../../src/core/call.ts';
import { type HttpServer, listen } from './http-servers.ts';

/** What becomes of one tools/call; `answer` sends the result that a well server would have sent. */
export type Fault = (response: ServerResponse, answer: () => void, request: IncomingMessage) => void;

export interface FaultyHttp extends HttpServer {
  /** Each fault is used up by one call; afterwards calls are answered. */
  readonly faults: Fault[];
  /** How often the tool was asked for, faults included. */
  readonly calls: () => number;
  readonly handshakes: () => number;
  /** Forgets every session, as a restart does. */
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

/** A server of the session era, written by hand, so that it can be wrong in any way. */
export async function faultyHttp(): Promise<FaultyHttp> {
  const faults: Fault[] = [];
  const asked: string[] = [];
  let session = 1;
  const server = await listen(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as JsonObject;
    asked.push(String(method));
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
  const count = (method: string) => asked.filter((one) => one === method).length;
  return {
    ...server,
    faults,
    calls: () => count('tools/call'),
    handshakes: () => count('initialize'),
    forget: () => void session++,
  };
}

/** Answers with a status, and perhaps when to come back. */
export const refuse =
  (status: number, headers: Record<string, string> = {}, body = ''): Fault =>
  (response) =>
    response.writeHead(status, headers).end(body);
