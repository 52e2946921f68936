import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { verifies } from '../../../test/requirements.ts';
import { NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { JsonObject } from '../../core/call.ts';
import type { Transport } from '../../wire/transport.ts';
import type { ConnectOptions } from '../connection.ts';
import { HELLO, never, tinyServer, toolCall } from '../fixtures.ts';
import { connectInMemory } from '../transports/connect-in-memory.ts';
import { openConnection } from './open-connection.ts';

const base = (): ConnectOptions => ({
  server: 'demo',
  signal: new AbortController().signal,
  known: 'legacy',
  capabilities: NO_CAPABILITIES,
  onNotification: () => {},
});

verifies('T1', 'connects an SDK server in process', async () => {
  const connection = await connectInMemory(async (transport) => {
    const server = new McpServer({ name: 'sdk', version: '1' });
    const inputSchema = { text: z.string() };
    server.registerTool('echo', { inputSchema }, ({ text }) => ({ content: [{ type: 'text', text }] }));
    await server.connect(transport as Transport as never);
  })({ ...base(), known: undefined });
  expect(connection.agreement).toMatchObject({ era: 'legacy', newest: 'legacy', serverInfo: { name: 'sdk' } });
  const result = await connection.send(toolCall('echo', { text: 'hi' }));
  expect(result).toMatchObject({ value: { content: [{ type: 'text', text: 'hi' }] } });
  await connection.close();
  await connection.closed;
});

it('returns the result unchanged, and passes on arguments, meta and progress', async () => {
  const value = { content: [{ type: 'hologram' }], isError: true, vendor: { x: [1] } };
  const asked: JsonObject[] = [];
  const tiny = tinyServer({
    async 'tools/call'(params) {
      asked.push(params);
      const { progressToken } = params._meta as { progressToken: number };
      await tiny.transports[0]?.notify('notifications/progress', { progressToken, progress: 1, vendor: true });
      return value;
    },
  });
  const connection = await connectInMemory(tiny.serve)(base());
  const seen: JsonObject[] = [];
  const more = { meta: { traceparent: '00-1' }, onProgress: (progress: JsonObject) => void seen.push(progress) };
  const result = await connection.send(toolCall('scan', { deep: true }, more));
  expect(result).toMatchObject({ kind: 'complete', isError: true, provenance: { server: 'demo', attempts: 1 } });
  expect(result.kind === 'complete' && result.value).toEqual(value);
  const { _meta, ...params } = asked[0] as JsonObject;
  expect(params).toEqual({ name: 'scan', arguments: { deep: true } });
  expect(_meta).toMatchObject({ traceparent: '00-1' });
  expect(seen).toMatchObject([{ progress: 1, vendor: true }]);
  await connection.close();
});

it('throws UPSTREAM_REFUSED with the message of the server', async () => {
  const connection = await connectInMemory(tinyServer().serve)(base());
  await expect(connection.send(toolCall('x'))).rejects.toMatchObject({
    code: 'UPSTREAM_REFUSED',
    message: 'tools/call is not supported.',
    details: { server: 'demo', rpc: { code: -32601 } },
  });
  await connection.close();
});

it('rejects an input request without a declared capability', async () => {
  const asks = { 'tools/call': () => ({ resultType: 'input_required', inputRequests: {} }) };
  const connection = await connectInMemory(tinyServer(asks).serve)(base());
  await expect(connection.send(toolCall('x'))).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'maybe' });
  await connection.close();
});

verifies('T8', 'sends no tools/list to a server without tools', async () => {
  const tiny = tinyServer({ initialize: () => ({ ...HELLO, capabilities: { prompts: {} } }) });
  const connection = await connectInMemory(tiny.serve)(base());
  await expect(connection.list('tools', new AbortController().signal)).resolves.toEqual([]);
  expect(tiny.requests).toEqual(['initialize']);
  await connection.close();
});

verifies('T9', 'passes on notifications of the server, custom ones included', async () => {
  const tiny = tinyServer();
  const received: unknown[] = [];
  const hear = (method: string, params: JsonObject) => received.push([method, params]);
  const connection = await connectInMemory(tiny.serve)({ ...base(), onNotification: hear });
  await tiny.transports[0]?.notify('notifications/tools/list_changed');
  await tiny.transports[0]?.notify('x-editor/selection', { line: 3 });
  await new Promise(setImmediate);
  expect(received).toEqual([
    ['notifications/tools/list_changed', {}],
    ['x-editor/selection', { line: 3 }],
  ]);
  await connection.close();
});

verifies('T7', 'probes with the cheapest request of the era', async () => {
  const tiny = tinyServer();
  const connection = await connectInMemory(tiny.serve)(base());
  await connection.probe(new AbortController().signal);
  await connection.close();
  await expect(connection.probe(new AbortController().signal)).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
});

verifies('T3', 'ends the connect to an in-process server that never starts its transport', async () => {
  const abort = new AbortController();
  const connecting = connectInMemory(() => new Promise(() => {}))({ ...base(), signal: abort.signal });
  abort.abort();
  await expect(connecting).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
});

for (const [what, answers, code] of [
  ['is refused', { initialize: () => Promise.reject(new Error('no')) }, 'UPSTREAM_REFUSED'],
  ['speaks no version of ours', { initialize: () => ({ ...HELLO, protocolVersion: '1999' }) }, 'UPSTREAM_REFUSED'],
  ['is given up', { initialize: never }, 'CALL_CANCELLED'],
] as const) {
  verifies('T3', `closes the transport when the handshake ${what}`, async () => {
    const abort = new AbortController();
    const tiny = tinyServer(answers);
    const connecting = connectInMemory(tiny.serve)({ ...base(), signal: abort.signal });
    if (code === 'CALL_CANCELLED') setImmediate(() => abort.abort());
    await expect(connecting).rejects.toMatchObject({ code });
    await tiny.transports[0]?.closed;
  });
}

it('closes a transport that does not start, and throws its error', async () => {
  let closed = 0;
  const transport: Transport = {
    start: () => Promise.reject(new Error('no cable')),
    send: async () => {},
    close: async () => void closed++,
  };
  const failure = { code: 'UPSTREAM_FAILED', cause: { message: 'no cable' } };
  await expect(openConnection({ ...base(), transport })).rejects.toMatchObject(failure);
  expect(closed).toBe(1);
});
