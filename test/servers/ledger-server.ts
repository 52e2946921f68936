import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import type { JsonObject } from '../../src/core/call.ts';
import { type HttpServer, listen } from './http-servers.ts';

/** A call of a tool of the ledger. */
export interface LedgerCall {
  readonly tool: string;
  /** `<n>/<step>`, or `<n>/<step>/<item>`: the arguments of the call. */
  readonly key: string;
  readonly idempotencyKey: string | undefined;
}

/** The point of a call at which the test acts: in a hook before its intent, before it is entered, before and after the response. */
export type CallPoint = 'hooked' | 'received' | 'entered' | 'answered';

export interface LedgerServer extends HttpServer {
  /** Every call that was entered, in order. */
  readonly entries: LedgerCall[];
  /** Called at each point of each call. The server waits for it. A call is dropped if it returns false. */
  onPoint: (point: CallPoint, call: LedgerCall) => boolean | Promise<boolean>;
  /** Counts the entries of one tool by their key. */
  count(tool: string): ReadonlyMap<string, number>;
}

const inputSchema = {
  type: 'object',
  properties: { n: { type: 'integer' }, step: { type: 'string' }, item: {}, parts: {} },
  required: ['n', 'step'],
};
const TOOLS = [
  { name: 'read', inputSchema, annotations: { readOnlyHint: true } },
  { name: 'put', inputSchema, annotations: { idempotentHint: true, destructiveHint: false } },
  { name: 'act', inputSchema, annotations: { destructiveHint: false } },
  { name: 'undo', inputSchema, annotations: { destructiveHint: false } },
  { name: 'fail', inputSchema, annotations: { idempotentHint: true, destructiveHint: false } },
];

/**
 * Starts an MCP server over HTTP that enters every call in a list. It outlives the processes that call it. A GET of
 * `?tool=act&key=7/pay` returns the number of entries, as a person who settles a call in doubt would find out. With
 * `&hook` it is a point of the call, too.
 */
export async function ledgerServer(): Promise<LedgerServer> {
  const entries: LedgerCall[] = [];
  const count = (tool: string) =>
    new Map(
      [...Map.groupBy(entries, (entry) => `${entry.tool} ${entry.key}`)].flatMap(([, all]) =>
        all[0]?.tool === tool ? [[all[0].key, all.length]] : [],
      ),
    );
  const ledger = { entries, count, onPoint: () => true } as unknown as LedgerServer;

  async function callTool(params: JsonObject): Promise<JsonObject | undefined> {
    const call = toCall(params);
    if (!(await ledger.onPoint('received', call))) return undefined;
    entries.push(call);
    if (!(await ledger.onPoint('entered', call))) return undefined;
    const result = { key: call.key, n: Number(call.key.split('/')[0]) };
    const content = [{ type: 'text', text: JSON.stringify(result) }];
    return call.tool === 'fail' ? { content, isError: true } : { content, structuredContent: result };
  }
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') return respondToGet(request, response, ledger);
    const { id, method, params = {} } = JSON.parse(await readText(request));
    if (id === undefined) return void response.writeHead(202).end();
    const result = method === 'tools/call' ? await callTool(params) : resultOf(method, params);
    if (!result) return void response.destroy();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    if (method === 'tools/call') await ledger.onPoint('answered', toCall(params));
  }
  const server = await listen((request, response) => void answer(request, response).catch(() => response.destroy()));
  return Object.assign(ledger, server);
}

function toCall(params: JsonObject): LedgerCall {
  const { n, step, item } = params.arguments as { n: number; step: string; item?: unknown };
  const meta = (params._meta ?? {}) as JsonObject;
  const idempotencyKey = meta['dev.heddle/idempotencyKey'];
  return {
    tool: String(params.name),
    key: item === undefined ? `${n}/${step}` : `${n}/${step}/${item}`,
    idempotencyKey: typeof idempotencyKey === 'string' ? idempotencyKey : undefined,
  };
}

function resultOf(method: string, params: JsonObject): JsonObject {
  if (method === 'tools/list') return { tools: TOOLS };
  if (method !== 'initialize') return {};
  const { protocolVersion } = params;
  return {
    protocolVersion: protocolVersion ?? '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'ledger', version: '1' },
  };
}

async function respondToGet(request: IncomingMessage, response: ServerResponse, ledger: LedgerServer): Promise<void> {
  const { searchParams } = new URL(String(request.url), 'http://localhost');
  const [tool, key] = [searchParams.get('tool'), searchParams.get('key')];
  // A GET without a key opens an event stream, which this server does not have.
  if (tool === null || key === null) return void response.writeHead(405).end();
  if (searchParams.has('hook')) await ledger.onPoint('hooked', { tool, key, idempotencyKey: undefined });
  response.end(String(ledger.count(tool).get(key) ?? 0));
}
