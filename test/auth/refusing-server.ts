import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { Caller, JsonObject } from '../../src/core/call.ts';
import { openStore } from '../../src/store/open-store.ts';
import { type Grant, SHARED_PRINCIPAL } from '../../src/store/token-vault.ts';
import { tokenLeaseName } from '../../src/upstream/auth/token-lease.ts';
import { listen } from '../servers/http-servers.ts';
import { temporaryHeddle } from '../temporary-heddle.ts';

export const owner: Caller = { id: 'owner', roles: ['owner'], via: 'library' };
export const { signal } = new AbortController();
export const START = Date.parse('2026-11-17T10:00:00Z');
const CHALLENGE = 'Bearer resource_metadata="http://127.0.0.1:9/prm", scope="read"';

type Answer = (id: unknown, response: ServerResponse) => void;

/** A legacy server. It accepts the token `good`; `refuse` answers every other request. */
export async function serve(
  refuse: Answer = (_, response) => response.writeHead(401, { 'www-authenticate': CHALLENGE }).end(),
) {
  const seen: string[] = [];
  const accepted = new Set(['Bearer good']);
  const scoped = new Map<string, string>(); // Tools that need a scope which no token has.
  const streams: ServerResponse[] = [];
  const isRefused = { call: () => false }; // Tests whether the next `tools/call` is refused.
  const refusesCall = (method: string) => method === 'tools/call' && isRefused.call();
  const server = await listen(async (request, response) => {
    if (request.url?.startsWith('/.well-known/')) return response.writeHead(404).end();
    const text = Buffer.concat(await request.toArray()).toString();
    const { id, method, params } = text === '' ? { id: undefined, method: request.method } : JSON.parse(text);
    seen.push(`${method} ${request.headers.authorization ?? ''}`.trim());
    if (!accepted.has(String(request.headers.authorization)) || refusesCall(method)) return refuse(id, response);
    const scope = scoped.get(params?.name);
    if (scope !== undefined) {
      const challenge = `Bearer error="insufficient_scope", scope="${scope}"`;
      return response.writeHead(403, { 'www-authenticate': challenge }).end();
    }
    if (request.method !== 'POST') {
      streams.push(response);
      return response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    }
    if (id === undefined) return response.writeHead(202).end();
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answerTo(method) }));
  });
  onTestFinished(() => server.close());
  return { ...server, seen, accepted, scoped, streams, isRefused };
}

const CAPABILITIES = { tools: {}, prompts: {}, resources: {} };

function answerTo(method: string): JsonObject {
  const info = { protocolVersion: '2025-11-25', capabilities: CAPABILITIES, serverInfo: { name: 'up', version: '1' } };
  if (method === 'initialize') return { result: info };
  if (method === 'tools/list') {
    return { result: { tools: ['act', 'write', 'drop'].map((name) => ({ name, inputSchema: { type: 'object' } })) } };
  }
  if (method === 'prompts/list') return { result: { prompts: [{ name: 'ask' }] } };
  if (method === 'resources/list') return { result: { resources: [{ uri: 'file:///a', name: 'a' }] } };
  if (method === 'tools/call') return { result: { content: [{ type: 'text', text: 'done' }] } };
  return { error: { code: -32_601, message: 'unknown' } };
}

/** Opens a Heddle on a folder that others may share, as another process would. */
export async function open(folder: string, entry: JsonObject, time = { now: START }) {
  const heddle = await temporaryHeddle({ folder, config: { mcpServers: { up: entry } }, clock: () => time.now });
  const connect = () => heddle.servers.connect(owner, 'up', signal);
  const rest = { input: {}, meta: {}, options: {}, caller: owner, signal };
  const call = (tool = 'act') =>
    heddle.dispatch({ ...rest, id: randomUUID(), kind: 'tool', name: `mcp__up__${tool}`, approved: 'self' });
  return { heddle, connect, call };
}

/** Writes tokens as a sign-in of another process does. */
export async function signIn(folder: string, url: string, now: number): Promise<void> {
  const home = join(folder, 'home');
  const store = await openStore({ location: join(home, 'heddle.sqlite'), home, env: {}, clock: () => now });
  const grant: Grant = {
    ...{ issuer: 'http://127.0.0.1:9', resource: url, principal: SHARED_PRINCIPAL, serverUrl: url, clientId: 'c' },
    ...{ accessToken: 'good', tokenType: 'Bearer', receivedAt: now, scopes: [] },
  };
  const lease = await store.leases.acquire(tokenLeaseName(url, SHARED_PRINCIPAL), 1000);
  expect(await store.vault.put(grant, lease?.epoch ?? 0)).toBe(true);
  await store.close();
}
