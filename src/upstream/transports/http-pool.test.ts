import { request as ask, createServer } from 'node:http';
import { type AddressInfo, connect as dial } from 'node:net';
import type { Dispatcher } from 'undici';
import { afterEach, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { listen } from '../../../test/servers/http-servers.ts';
import { httpPool, isLoopback } from './http-pool.ts';
import { HttpClientTransport } from './http-transport.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A real proxy: forwards plain requests and tunnels CONNECT, always to `port` of this machine. */
async function proxyTo(port: number) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers['proxy-authorization'] ?? ''}`.trim());
    const { pathname } = new URL(String(request.url));
    const options = { host: '127.0.0.1', port, path: pathname, method: request.method, headers: request.headers };
    const onward = ask(options, (answer) => answer.pipe(response.writeHead(Number(answer.statusCode), answer.headers)));
    request.pipe(onward);
  });
  server.on('connect', (request, socket) => {
    seen.push(`CONNECT ${request.url}`);
    const onward = dial(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

async function target() {
  const server = await listen((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","id":1,"result":{}}');
  });
  closers.push(() => server.close());
  return { ...server, port: Number(new URL(server.url).port) };
}

function poolOf(env: Record<string, string>) {
  const pool = httpPool(env);
  closers.push(() => pool.close());
  return pool;
}

async function send(url: string, dispatcher: Dispatcher): Promise<void> {
  const line = new HttpClientTransport({ server: 'demo', url: new URL(url), dispatcher });
  await line.send({ jsonrpc: '2.0', id: 1, method: 'ping' });
  await line.close();
}

verifies('T1', 'reaches a plain server through the proxy of the environment, with its password', async () => {
  const { port, requests } = await target();
  const { address, seen } = await proxyTo(port);
  const url = 'http://tools.example/mcp';
  const agent = await poolOf({ HTTP_PROXY: `http://me:secret@${address}` }).agent(new URL(url));
  await send(url, agent);
  const credential = Buffer.from('me:secret').toString('base64');
  expect(seen).toEqual([`POST http://tools.example/mcp Basic ${credential}`]);
  expect(requests).toEqual(['POST']);
});

verifies('T1', 'asks the proxy for a tunnel to a server behind https', async () => {
  const { port } = await target();
  const { address, seen } = await proxyTo(port);
  const url = 'https://tools.example/mcp';
  const agent = await poolOf({ https_proxy: address }).agent(new URL(url));
  // What answers is no TLS server: the tunnel is what counts.
  await expect(send(url, agent)).rejects.toMatchObject({ delivered: 'no', message: expect.stringMatching(/TLS/) });
  expect(seen[0]).toBe('CONNECT tools.example:443');
});

it('goes straight to this machine', async () => {
  const { url, port, requests } = await target();
  const { address, seen } = await proxyTo(port);
  await send(url, await poolOf({ HTTP_PROXY: address }).agent(new URL(url)));
  expect([requests, seen]).toEqual([['POST'], []]);
});

it('goes straight to what NO_PROXY names', async () => {
  const { port } = await target();
  const { address, seen } = await proxyTo(port);
  const url = 'http://tools.invalid/mcp'; // A reserved name: only a proxy can resolve it.
  const agent = await poolOf({ HTTP_PROXY: address, NO_PROXY: '.invalid' }).agent(new URL(url));
  await expect(send(url, agent)).rejects.toMatchObject({ code: 'UPSTREAM_UNREACHABLE' });
  expect(seen).toEqual([]);
});

it('goes through the proxy to what NO_PROXY does not name', async () => {
  const { port } = await target();
  const { address, seen } = await proxyTo(port);
  const url = 'http://tools.example/mcp';
  await send(url, await poolOf({ HTTP_PROXY: address, NO_PROXY: 'other.example' }).agent(new URL(url)));
  expect(seen).toHaveLength(1);
});

it('says that a proxy is no address', async () => {
  const agent = poolOf({ HTTP_PROXY: 'http://[' }).agent(new URL('http://tools.example/'));
  await expect(agent).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});

it('knows this machine by all its names', () => {
  const names = ['localhost', 'LOCALHOST', 'x.localhost', '127.0.0.1', '127.9.9.9', '[::1]'];
  expect(names.filter(isLoopback)).toEqual(names);
  expect(['127.0.0.1.example', 'localhost.example', 'example', '10.0.0.1', '[::2]'].filter(isLoopback)).toEqual([]);
});
