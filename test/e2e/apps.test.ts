import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { getToolUiResourceUri } from '@modelcontextprotocol/ext-apps/app-bridge';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { describe, expect, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { gatewayUnderTest, TOKEN } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { createAppServer } from '../servers/app-server.ts';
import { listen, withSessions } from '../servers/http-servers.ts';
import { ROOT } from './heddle-command.ts';

const ERAS = ['legacy', 'modern'] as const;
type Era = (typeof ERAS)[number];
const TRANSPORTS = ['stdio', 'http'] as const;

const APPS = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };
const APP_SERVER = join(ROOT, 'test/servers/app-server.ts');
const COPIES = ['a', 'b'] as const;
const VIEWS = ['view.html', 'detail.html', 'report.html'] as const;

/** Starts a copy over HTTP: with sessions in the legacy era, without in the modern one. */
async function httpUrl(copy: string, era: Era): Promise<string> {
  const server =
    era === 'modern'
      ? await listen(toNodeHandler(createMcpHandler(() => createAppServer(copy), { legacy: 'reject' })) as never)
      : await withSessions(async (onsessioninitialized) => {
          const transport = new NodeStreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID,
            onsessioninitialized,
          });
          await createAppServer(copy).connect(transport);
          return transport;
        });
  onTestFinished(() => server.close());
  return server.url;
}

async function connect(transport: Parameters<Client['connect']>[0], era: Era, capabilities: object): Promise<Client> {
  const pin = era === 'modern' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {};
  const client = new Client({ name: 'host', version: '1' }, { capabilities, ...pin } as never);
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

const connectHttp = (url: string, era: Era, { token, capabilities }: { token?: string; capabilities: object }) =>
  connect(
    new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } },
    }),
    era,
    capabilities,
  );

const byStdio = (copy: string, era: Era) => ({ command: process.execPath, args: [APP_SERVER, copy, era] });

/** Connects a client to a gateway with two copies of the app, and one to each copy. */
async function meeting(client: Era, server: Era, transport: (typeof TRANSPORTS)[number], capabilities: object = APPS) {
  const urls = transport === 'http' ? await Promise.all(COPIES.map((copy) => httpUrl(copy, server))) : [];
  const entry = (copy: string, at: number) =>
    transport === 'http' ? { type: 'http', url: urls[at] as string } : byStdio(copy, server);
  const servers = Object.fromEntries(COPIES.map((copy, at) => [copy, entry(copy, at)]));
  const { port } = await gatewayUnderTest({ config: { mcpServers: servers, mode: 'open' } as unknown as JsonObject });
  const host = await connectHttp(`http://127.0.0.1:${port}/mcp`, client, { token: TOKEN, capabilities });
  const directly = (copy: string, at: number) =>
    transport === 'http'
      ? connectHttp(urls[at] as string, server, { capabilities })
      : connect(new StdioClientTransport({ ...byStdio(copy, server), stderr: 'ignore' }), server, capabilities);
  return { host, direct: await Promise.all(COPIES.map(directly)) };
}

/** Returns a value of a copy with the URIs of shared views as that copy sends them. */
const ownUris = (value: unknown, copy: string) =>
  JSON.parse(JSON.stringify(value).replaceAll(`ui://${copy}/weather/`, 'ui://weather/'));

/** Removes the fields that belong to one connection or one era. */
function comparable(value: object): unknown {
  const { _meta, resultType, ttlMs, cacheScope, ...rest } = value as JsonObject;
  return rest;
}

const cells = ERAS.flatMap((client) =>
  ERAS.flatMap((server) => TRANSPORTS.map((transport) => ({ client, server, transport }))),
);

describe.each(cells)('a $client client and two $server copies of an app over $transport', (cell) => {
  verifies(
    'T13',
    'reads each view at the copy whose tool or result names it, equal to a direct connection',
    async () => {
      const { host, direct } = await meeting(cell.client, cell.server, cell.transport);
      const { tools } = await host.listTools();
      for (const [at, copy] of COPIES.entries()) {
        const own = direct[at] as Client;
        const listed = await own.listTools();
        for (const tool of listed.tools) {
          const through = tools.find(({ name }) => name === `mcp__${copy}__${tool.name}`);
          expect(getToolUiResourceUri(through ?? {})).toBe(
            getToolUiResourceUri(tool)?.replace('ui://', `ui://${copy}/`),
          );
          expect(ownUris({ ...through, name: tool.name }, copy)).toEqual(tool);
        }
        const result = await host.callTool({ name: `mcp__${copy}__links` });
        expect(ownUris(comparable(result), copy)).toEqual(comparable(await own.callTool({ name: 'links' })));
        expect(JSON.stringify(result)).toContain(`"ui://${copy}/weather/view.html"`);
      }
      const { resources } = await host.listResources();
      expect(resources.map(({ uri }) => uri)).toEqual(COPIES.map((copy) => `ui://${copy}/weather/view.html`));
      for (const [at, copy] of COPIES.entries()) {
        for (const view of VIEWS.slice(0, 2)) {
          const uri = `ui://${copy}/weather/${view}`;
          const read = await host.readResource({ uri });
          expect(read.contents).toMatchObject([{ uri, text: `<p>ui://weather/${view} of ${copy}</p>` }]);
          const there = await (direct[at] as Client).readResource({ uri: `ui://weather/${view}` });
          expect(ownUris(comparable(read), copy)).toEqual(comparable(there));
        }
      }
    },
  );

  verifies('R6', 'reads the links of results at the copy that sent them, or names the candidates', async () => {
    const { host } = await meeting(cell.client, cell.server, cell.transport);
    await host.listTools();
    const linked = async (copy: string) => {
      const { content } = await host.callTool({ name: `mcp__${copy}__links` });
      return (content as { type: string; uri: string }[]).flatMap(({ type, uri }) =>
        type === 'resource_link' ? uri : [],
      );
    };
    const textAt = async (uri: string) => ((await host.readResource({ uri })).contents[0] as { text: string }).text;
    await expect(textAt('note://a')).rejects.toThrow();
    const [ofA, ofB] = [await linked('a'), await linked('b')];
    expect(ofA).toEqual(['ui://weather/report.html', 'note://a', 'note://today']);
    expect(ofB).toEqual(['ui://b/weather/report.html', 'note://b', 'note://today']);
    expect(await textAt('ui://weather/report.html')).toBe('<p>ui://weather/report.html of a</p>');
    expect(await textAt('ui://b/weather/report.html')).toBe('<p>ui://weather/report.html of b</p>');
    expect(await textAt('note://a')).toBe('<p>note://a of a</p>');
    expect(await textAt('note://b')).toBe('<p>note://b of b</p>');
    await expect(textAt('note://today')).rejects.toThrow('heddle://a/note://today');
    await expect(textAt('ui://a/weather/other.html')).rejects.toThrow('No server has');
    await expect(textAt('ui://weather/view.html')).rejects.toThrow('ui://weather/view.html may be any of these');
  });

  verifies('T13', 'lists and calls a tool for views alone only with the extension', async () => {
    const refresh = 'mcp__a__refresh';
    const { host } = await meeting(cell.client, cell.server, cell.transport);
    expect((await host.listTools()).tools.map(({ name }) => name)).toContain(refresh);
    expect((await host.callTool({ name: refresh })).content).toMatchObject([{ text: 'a' }]);
    const { host: plain } = await meeting(cell.client, cell.server, cell.transport, {});
    const names = (await plain.listTools()).tools.map(({ name }) => name);
    expect(names).toContain('mcp__a__show');
    expect(names).not.toContain(refresh);
    await expect(plain.callTool({ name: refresh })).rejects.toThrow();
  });
});
