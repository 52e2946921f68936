import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { InMemoryTransport as ClientInMemoryTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { describe, expect, onTestFinished } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { sessionServer } from '../../test/servers/http-servers.ts';
import { temporaryFolder, temporaryHeddleClient } from '../../test/temporary-heddle.ts';
import { until } from '../../test/until.ts';
import { type ProgramTransport, text as textOf } from '../index.ts';

const ODD = join(import.meta.dirname, '../../test/servers/odd-tools.mjs');

/** A real SDK server, with a function that makes a transport to a new copy of it. */
function clockServer() {
  const transports: InMemoryTransport[] = [];
  return {
    transports,
    async transport() {
      const [near, far] = InMemoryTransport.createLinkedPair();
      transports.push(near);
      const server = new McpServer({ name: 'clock', version: '1.0.0' });
      server.registerTool('now', {}, () => ({ content: [{ type: 'text', text: 'noon' }] }));
      server.registerTool('hang', {}, () => new Promise<never>(() => {}));
      await server.connect(far);
      return near;
    },
  };
}

/** A transport that does nothing, apart from the given members. */
const silent = (more: Partial<ProgramTransport> = {}): ProgramTransport => ({
  start: async () => {},
  send: async () => {},
  close: async () => {},
  ...more,
});

/** Collects rejections and exceptions that nothing handles, until the test ends. */
function unhandled(): unknown[] {
  const found: unknown[] = [];
  const note = (thrown: unknown) => found.push(thrown);
  process.on('unhandledRejection', note).on('uncaughtException', note);
  onTestFinished(() => void process.off('unhandledRejection', note).off('uncaughtException', note));
  return found;
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

verifies('X1', 'calls a server over a transport that the program makes, and makes another after a loss', async () => {
  const clock = clockServer();
  const heddle = await temporaryHeddleClient({ servers: { clock } });
  expect(clock.transports).toHaveLength(0);
  expect(textOf((await heddle.call('clock.now')).value)).toBe('noon');
  await clock.transports[0]?.close();
  await until('the loss is noticed', async () => (await heddle.servers.get('clock')).state !== 'connected');
  expect(textOf((await heddle.call('clock.now')).value)).toBe('noon');
  expect(clock.transports).toHaveLength(2);
});

verifies('X1', 'takes a transport of the client package, and closes it with Heddle', async () => {
  const closed: string[] = [];
  const heddle = await temporaryHeddleClient({
    servers: {
      clock: {
        async transport() {
          const [near, far] = ClientInMemoryTransport.createLinkedPair();
          far.onclose = () => closed.push('far');
          const server = new McpServer({ name: 'clock', version: '1.0.0' });
          server.registerTool('now', {}, () => ({ content: [{ type: 'text', text: 'noon' }] }));
          await server.connect(far as never);
          return near;
        },
      },
    },
  });
  expect(textOf((await heddle.call('clock.now')).value)).toBe('noon');
  await heddle.close();
  expect(closed).toEqual(['far']);
});

verifies('X1', 'takes the transports of the SDK for stdio and Streamable HTTP', async () => {
  const http = await sessionServer();
  onTestFinished(() => http.close());
  const odd = { command: process.execPath, args: [ODD], stderr: 'ignore' as const };
  const heddle = await temporaryHeddleClient({
    servers: {
      child: { transport: () => new StdioClientTransport(odd) },
      web: { transport: () => new StreamableHTTPClientTransport(new URL(http.url)) },
    },
  });
  expect(textOf((await heddle.call('child.plain', { message: 'hi' })).value)).toContain('hi');
  expect((await heddle.call('web.echo', { text: 'hi' })).isError).toBe(false);
});

verifies('X1', 'registers a server with a transport at run time', async () => {
  const heddle = await temporaryHeddleClient();
  await heddle.servers.register('clock', clockServer());
  expect(textOf((await heddle.call('clock.now')).value)).toBe('noon');
});

verifies('X1', 'ends a call in flight when the transport closes', async () => {
  const clock = clockServer();
  const heddle = await temporaryHeddleClient({ servers: { clock } });
  await heddle.call('clock.now');
  const failed = expect(heddle.call('clock.hang')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  await nextTurn();
  await clock.transports[0]?.close();
  await failed;
});

describe('a transport that fails', () => {
  const thrown = new Error('no cable');
  const fails = () => Promise.reject(thrown);
  const broken: Readonly<Record<string, () => ProgramTransport | Promise<ProgramTransport>>> = {
    'throws in its function': () => {
      throw thrown;
    },
    'rejects in its function': fails,
    'is no transport': () => ({}) as never,
    'throws in start': () =>
      silent({
        start: () => {
          throw thrown;
        },
      }),
    'rejects in start': () => silent({ start: fails }),
    'throws in send': () =>
      silent({
        send: () => {
          throw thrown;
        },
      }),
    'rejects in send and in close': () => silent({ send: fails, close: fails }),
    'throws in close, too': () =>
      silent({
        start: fails,
        close: () => {
          throw thrown;
        },
      }),
    'closes twice during start': () => {
      const transport: ProgramTransport = silent({
        async start() {
          transport.onclose?.();
          transport.onclose?.();
        },
      });
      return transport;
    },
  };

  for (const [name, transport] of Object.entries(broken)) {
    verifies('X1', `is a failed server, and the others stay: ${name}`, async () => {
      const found = unhandled();
      const heddle = await temporaryHeddleClient({ servers: { bad: { transport }, clock: clockServer() } });
      await expect(heddle.call('bad.x')).rejects.toMatchObject({ code: expect.stringMatching(/^UPSTREAM_/) });
      expect(textOf((await heddle.call('clock.now')).value)).toBe('noon');
      await heddle.close();
      await nextTurn();
      expect(found).toEqual([]);
    });
  }

  const never = () => new Promise<never>(() => {});
  const hanging: Readonly<Record<string, () => ProgramTransport | Promise<ProgramTransport>>> = {
    'in its function': never,
    'in start': () => silent({ start: never }),
    'in the handshake': () => silent(),
    'in send and close': () => silent({ send: never, close: never }),
  };

  for (const [name, transport] of Object.entries(hanging)) {
    verifies('X1', `is a late server if it never answers ${name}`, async () => {
      const found = unhandled();
      const heddle = await temporaryHeddleClient({
        config: { connect: { timeoutMs: 100 } },
        servers: { bad: { transport } },
      });
      await expect(heddle.call('bad.x')).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
      await heddle.close();
      await nextTurn();
      expect(found).toEqual([]);
    });
  }
});

verifies('X1', 'keeps a program alive whose only server never answers, until the handshake fails', async () => {
  const home = await temporaryFolder();
  const program = `
    import { openHeddle } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, '../index.ts')).href)};
    const transport = () => ({ start: async () => {}, send: async () => {}, close: async () => {} });
    const config = { connect: { timeoutMs: 100 } };
    const heddle = await openHeddle({ env: { HOME: ${JSON.stringify(home)} }, config, servers: { bad: { transport } } });
    console.log(await heddle.call('bad.x').catch(({ code }) => code));
    await heddle.close();
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  expect(stdout).toBe('UPSTREAM_TIMEOUT\n');
});
