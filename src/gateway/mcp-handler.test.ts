import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { recordingServer, text } from '../../test/servers/recording-server.ts';
import { temporaryHeddle } from '../../test/temporary-heddle.ts';
import type { JsonObject } from '../core/call.ts';
import type { HeddleOptions } from '../open-heddle.ts';
import type { Era } from '../wire/mcp.ts';
import { OWNER } from './fixtures.ts';
import { mcpHandler } from './mcp-handler.ts';

/** Returns a function that sends a request of an era to the handler of a Heddle with one server. */
async function handlerWith(servers: NonNullable<HeddleOptions['servers']> = {}) {
  const heddle = await temporaryHeddle({ env: {}, config: {}, servers });
  const handler = mcpHandler(heddle);
  return (era: Era, method: string, params: JsonObject = {}) =>
    handler(method, params, {
      id: 1,
      era,
      caller: OWNER,
      signal: new AbortController().signal,
      notify: () => true,
    });
}

describe('mcpHandler', () => {
  it.each([
    ['2024-11-05', '2024-11-05'],
    ['2025-06-18', '2025-06-18'],
    ['1999-01-01', '2025-11-25'],
    ['2026-07-28', '2025-11-25'],
  ])('T11: negotiates %s to %s', async (protocolVersion, expected) => {
    const send = await handlerWith();
    expect(await send('legacy', 'initialize', { protocolVersion })).toMatchObject({
      protocolVersion: expected,
      serverInfo: { name: 'heddle' },
    });
  });

  verifies('P1', 'returns version and capabilities for server/discover', async () => {
    const send = await handlerWith();
    expect(await send('modern', 'server/discover')).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'heddle' } },
    });
  });

  it.each<[Era, string]>([
    ['legacy', 'server/discover'],
    ['legacy', 'subscriptions/listen'],
    ['modern', 'initialize'],
    ['modern', 'ping'],
    ['modern', 'toString'],
  ])('P6: rejects the %s request %s as unknown', async (era, method) => {
    const send = await handlerWith();
    await expect(send(era, method)).rejects.toMatchObject({ code: -32601, message: `${method} is not supported.` });
  });

  it.each<[string, JsonObject]>([
    ['without a name', {}],
    ['with arguments in a list', { name: 'mcp__up__do', arguments: [] }],
  ])('P6: rejects tools/call %s', async (_, params) => {
    const send = await handlerWith();
    await expect(send('modern', 'tools/call', params)).rejects.toMatchObject({ code: -32602 });
  });

  verifies('P1', 'wraps structured content that is no object for legacy clients only', async () => {
    const value = { ...text('three'), structuredContent: 3 as never };
    const send = await handlerWith({ up: recordingServer({ count: () => value }) });
    const params = { name: 'mcp__up__count', arguments: {} };
    expect(await send('legacy', 'tools/call', params)).toMatchObject({ structuredContent: { result: 3 } });
    expect(await send('modern', 'tools/call', params)).toMatchObject({ structuredContent: 3, resultType: 'complete' });
  });
});
