import { writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../requirements.ts';
import { startEverything } from '../servers/everything.ts';
import { listen, statelessServer } from '../servers/http-servers.ts';
import { sseServer } from '../servers/sse-servers.ts';
import { type Project, project } from './heddle-command.ts';
import { terminal } from './terminal.ts';

async function closing<One extends { close(): Promise<void> }>(opened: Promise<One>): Promise<One> {
  const one = await opened;
  onTestFinished(() => one.close());
  return one;
}

const transportOf = async ({ heddle }: Project, name: string): Promise<unknown> => {
  const { stdout } = await heddle(['list', 'servers', '--json']);
  return JSON.parse(stdout).find((server: { name: string }) => server.name === name)?.transport;
};

/** Forwards a request to a server, until one of both sides closes. */
async function forward(request: IncomingMessage, response: ServerResponse, target: string): Promise<void> {
  const { method = 'GET' } = request;
  const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers as Record<string, string>;
  const closed = new AbortController();
  response.on('close', () => closed.abort());
  try {
    const body = method === 'POST' ? Buffer.concat(await request.toArray()) : null;
    const to = new URL(String(request.url), target);
    const answer = await fetch(to, { method, headers, body, signal: closed.signal });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
    response.flushHeaders();
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  } catch {
    response.destroy();
  }
}

for (const [kind, file, entry] of [
  ['without a type', 'heddle.json', {}],
  ['with the type http', 'heddle.json', { type: 'http' }],
  ['in .mcp.json', '.mcp.json', {}],
] as const) {
  verifies('C2', `a URL ${kind} falls back to HTTP+SSE with the reference server, and calls it once`, async () => {
    const server = await closing(startEverything('sse'));
    const one = project({ [file]: { mcpServers: { up: { ...entry, url: server.tappedUrl } } } });
    expect(await transportOf(one, 'up')).toBe('http');
    const { code, stdout, stderr } = await one.heddle(['call', 'up.echo', 'message=hi']);
    expect([code, stdout.trim(), stderr]).toEqual([0, 'Echo: hi', '']);
    expect(server.received().match(/"tools\/call"/g)).toHaveLength(1);
    expect(await transportOf(one, 'up')).toBe('sse');
    const inspected = await one.heddle(['doctor', 'up']);
    expect(inspected.stdout).toMatch(/connected in \d+ ms over HTTP\+SSE, protocol/);
    const shown = await one.heddle(['get', 'up']);
    expect(shown.stdout).toContain('speaks HTTP+SSE (sse), as found at its last connect');
    expect(JSON.parse((await one.heddle(['get', 'up', '--json'])).stdout)).toMatchObject({ transport: 'sse' });
  });
}

verifies('C2', '`heddle call <url>` falls back to HTTP+SSE, on a terminal too', async () => {
  const server = await closing(startEverything('sse'));
  const one = project();
  const { code, stdout } = await one.heddle(['call', server.url, 'echo', 'message=hi']);
  expect([code, stdout.trim()]).toEqual([0, 'Echo: hi']);
  const shown = await terminal(one, ['call', server.url, 'echo', 'message=again']);
  expect(await shown.ended()).toBe(0);
  expect(shown.screen()).toContain('Echo: again');
});

verifies(
  'C2',
  'a restarted Heddle does not probe a remembered HTTP+SSE server, and forgets it with its URL',
  async () => {
    const [server, other] = [await closing(sseServer()), await closing(sseServer())];
    const one = project({ 'heddle.json': { mcpServers: { up: { url: server.url } } } });
    const call = () => one.heddle(['call', 'up.echo', 'text=hi']);
    expect((await call()).stdout.trim()).toBe('hi');
    expect(server.received.slice(0, 3)).toEqual(['POST /mcp', 'POST /mcp', 'GET /mcp']);
    const before = server.received.length;
    expect((await call()).stdout.trim()).toBe('hi');
    expect(server.received[before]).toBe('GET /mcp');
    expect(server.received.slice(before)).not.toContain('POST /mcp');
    writeFileSync(join(one.folder, 'heddle.json'), JSON.stringify({ mcpServers: { up: { url: other.url } } }));
    await one.heddle(['trust', '--yes']);
    expect((await call()).stdout.trim()).toBe('hi');
    expect(other.received[0]).toBe('POST /mcp');
  },
);

verifies('C2', 'a remembered HTTP+SSE server that now speaks Streamable HTTP is connected so', async () => {
  const [old, renewed] = [await closing(sseServer()), await closing(statelessServer())];
  let target = old.url;
  const front = await closing(listen((request, response) => forward(request, response, target)));
  const one = project({ 'heddle.json': { mcpServers: { up: { url: front.url } } } });
  const call = () => one.heddle(['call', 'up.echo', 'text=hi']);
  expect((await call()).stdout.trim()).toBe('hi');
  expect(await transportOf(one, 'up')).toBe('sse');
  target = renewed.url;
  expect((await call()).stdout.trim()).toBe('hi');
  expect(await transportOf(one, 'up')).toBe('http');
});

verifies('C2', '`type: sse` never tries Streamable HTTP', async () => {
  const server = await closing(statelessServer());
  const one = project({ 'heddle.json': { mcpServers: { up: { type: 'sse', url: server.url } } } });
  const { code, stderr } = await one.heddle(['call', 'up.echo', 'text=hi']);
  expect(code).toBe(8);
  expect(stderr).toContain('If it speaks Streamable HTTP, set its `type` to "http".');
  expect(server.requests).not.toContain('POST');
});

verifies('L5', 'an address that is no MCP endpoint is named with both attempts and one fix', async () => {
  const page = '<!doctype html><title>Welcome</title>';
  const { url } = await closing(
    listen((request, response) => {
      response.writeHead(request.method === 'POST' ? 404 : 200, { 'content-type': 'text/html' }).end(page);
    }),
  );
  const one = project({ 'heddle.json': { mcpServers: { up: { url } } } });
  const configured = await one.heddle(['call', 'up.echo']);
  expect(configured.code).toBe(8);
  expect(configured.stderr).toContain(
    'up speaks neither Streamable HTTP (POST: HTTP 404 with an HTML page (title “Welcome”)) nor HTTP+SSE (GET: an HTML page (title “Welcome”), no event stream).',
  );
  expect(configured.stderr).toContain('Check that `url` of up is the address of its MCP endpoint.');
  const typed = await one.heddle(['call', url, 'echo']);
  expect(typed.stderr).toMatch(/speaks neither Streamable HTTP .* nor HTTP\+SSE/);
  expect(typed.stderr).toContain('Check that this is the address of its MCP endpoint.');
});
