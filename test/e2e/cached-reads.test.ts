import type { RequestListener } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { describe, expect, onTestFinished } from 'vitest';
import { gatewayUnderTest, TOKEN } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { listen } from '../servers/http-servers.ts';
import { INTERACTIVE_CLIENTS } from '../servers/interactive-clients.ts';

const NOTE = 'note://one';

/** Starts an SDK 2.4 server whose resource may be cached for a minute. It counts the reads. */
async function cacheableServer() {
  let reads = 0;
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'cacheable', version: '1' });
    server.registerResource('one', NOTE, {}, () => ({
      contents: [{ uri: NOTE, text: String(++reads) }],
      ttlMs: 60_000,
      cacheScope: 'public' as const,
    }));
    return server;
  });
  const http = await listen(toNodeHandler(handler) as RequestListener);
  onTestFinished(() => http.close());
  return { url: http.url, reads: () => reads };
}

describe.each(Object.entries(INTERACTIVE_CLIENTS))('%s', (_name, connect) => {
  verifies('P1', 'takes a repeated read from the cache of the gateway', async () => {
    const server = await cacheableServer();
    const { url } = await gatewayUnderTest({ servers: { demo: { type: 'http', url: server.url } } });
    // SDK 2.4 caches reads itself, so a second client reads again.
    for (const expected of [1, 1, 1]) {
      const client = await connect({ transport: 'http', url, token: TOKEN }, {});
      onTestFinished(() => client.close());
      await client.resources();
      const { contents } = await client.read(NOTE);
      expect(contents).toMatchObject([{ text: String(expected) }]);
      expect(server.reads()).toBe(expected);
    }
  });
});
