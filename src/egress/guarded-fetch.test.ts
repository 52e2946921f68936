import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { guardedFetch, redirected } from './guarded-fetch.ts';

async function serverThat(listener: RequestListener) {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    listener(request, response);
  });
  onTestFinished(() => void server.close().closeAllConnections());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { asked, server, port, url: `http://127.0.0.1:${port}` };
}

const redirectTo =
  (location: string): RequestListener =>
  (_request, response) =>
    response.writeHead(302, { location }).end();

// Named by a document of this machine: loopback is allowed, a private network is not.
const HERE = { url: 'http://127.0.0.1/', kind: 'loopback' } as const;
const LOCAL = { source: { written: HERE.url, document: HERE } };

verifies('A7', 'fetches from this machine only where that is allowed', async () => {
  const { url, asked } = await serverThat((_request, response) => response.end('hello'));
  const { status, body } = await guardedFetch(url, LOCAL);
  expect([status, body.toString()]).toEqual([200, 'hello']);
  await expect(guardedFetch(url)).rejects.toMatchObject({ code: 'UPSTREAM_UNREACHABLE' });
  expect(asked).toHaveLength(1);
});

verifies('A7', 'refuses a name that leads inward, even with one address of many', async () => {
  for (const inward of ['10.0.0.1', '169.254.169.254', '::ffff:7f00:1', 'fd00:ec2::254', 'fe80::1']) {
    const resolve = async () => ['93.184.216.34', inward];
    await expect(guardedFetch('https://example.com/', { ...LOCAL, resolve })).rejects.toThrow(/is at a/);
  }
});

verifies('A7', 'connects to the very address it has checked', async () => {
  const { port, asked } = await serverThat((_request, response) => response.end('pinned'));
  let resolved = 0;
  const resolve = async () => {
    resolved++;
    return ['127.0.0.1'];
  };
  const { body } = await guardedFetch(`http://rebinding.invalid:${port}/`, { ...LOCAL, resolve });
  expect(body.toString()).toBe('pinned');
  expect([resolved, asked[0]?.headers.host]).toEqual([1, `rebinding.invalid:${port}`]);
});

verifies('A7', 'takes plain http for nothing but this machine', async () => {
  const resolve = async () => ['93.184.216.34'];
  await expect(guardedFetch('http://example.com/', { ...LOCAL, resolve })).rejects.toThrow('is not https');
  await expect(guardedFetch('file:///etc/passwd')).rejects.toThrow('is not https');
  await expect(guardedFetch('https://me:secret@example.com/')).rejects.toThrow(/has a password/);
  await expect(guardedFetch('nonsense')).rejects.toThrow('is not a URL');
});

verifies('A7', 'follows three redirects and not four, and drops headers on the way to another origin', async () => {
  const end = await serverThat((_request, response) => response.end('end'));
  const other = await serverThat(redirectTo(end.url));
  const start = await serverThat((request, response) =>
    redirectTo(request.url === '/far' ? '/near' : other.url)(request, response),
  );
  const headers = { authorization: 'Bearer secret', 'x-api-key': 'secret' };
  const { body } = await guardedFetch(`${start.url}/far`, { ...LOCAL, headers });
  expect(body.toString()).toBe('end');
  expect(start.asked[1]?.headers).toMatchObject(headers);
  expect(JSON.stringify([other.asked[0]?.headers, end.asked[0]?.headers])).not.toContain('secret');

  const round = await serverThat(redirectTo('/again'));
  await expect(guardedFetch(round.url, LOCAL)).rejects.toThrow('redirects more than 3 times');
  expect(round.asked).toHaveLength(4);
});

verifies('A7', 'checks the target of a redirect like any other', async () => {
  for (const location of ['http://169.254.169.254/latest', 'http://10.0.0.1/', 'ftp://h/', 'http://[::ffff:7f00:1]/']) {
    const { url } = await serverThat(redirectTo(location));
    await expect(guardedFetch(url, LOCAL)).rejects.toMatchObject({ code: 'UPSTREAM_UNREACHABLE' });
  }
  const inward = await serverThat(redirectTo('https://10.0.0.1/'));
  const generous = { source: { written: inward.url }, timeoutMs: 1000 };
  await expect(guardedFetch(inward.url, generous)).rejects.toThrow('10.0.0.1 is at an address of a private network');
  const hop = { url: new URL('https://a.example/'), headers: {}, allowed: new Set(['public'] as const) };
  expect(() => redirected(hop, 'http://a.example/')).toThrow('from https to http');
  expect([...redirected(hop, 'https://b.example/').allowed]).toEqual(['public']);
});

verifies('A7', 'lets a document of a private network name a private address, and no other document', async () => {
  const resolve = async (host: string) => [host === 'public.example' ? '93.184.216.34' : '10.0.0.1'];
  const fetchNamed = (written: string, document: { url: string; kind: 'public' | 'private' }) =>
    guardedFetch('https://as.corp/token', { resolve, source: { written, document }, timeoutMs: 1 }).catch(
      ({ message }) => message,
    );
  const isRefused = expect.stringContaining('as.corp is at an address of a private network');
  const ofPublic = { url: 'https://public.example/metadata', kind: 'public' } as const;
  expect(await fetchNamed('https://public.example/mcp', ofPublic)).toEqual(isRefused);
  const ofPrivate = { url: 'https://mcp.corp/metadata', kind: 'private' } as const;
  expect(await fetchNamed('https://mcp.corp/mcp', ofPrivate)).not.toEqual(isRefused);
  expect(await fetchNamed('https://as.corp/', { url: 'https://as.corp/x', kind: 'public' })).not.toEqual(isRefused);
});

verifies('A7', 'sends a body and follows no redirect with it', async () => {
  const end = await serverThat((_request, response) => response.end('end'));
  const { url, asked } = await serverThat((request, response) => {
    request.on('data', (data) => response.writeHead(307, { location: end.url }).end(`got ${data}`));
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const sent = await guardedFetch(`${url}/token`, { ...LOCAL, method: 'POST', body: 'code=secret', headers });
  expect([sent.status, sent.body.toString(), sent.url]).toEqual([307, 'got code=secret', `${url}/token`]);
  expect(asked[0]).toMatchObject({ method: 'POST', headers });
  expect(end.asked).toEqual([]);
});

verifies('A7', 'returns the address that responded and its network after a redirect', async () => {
  const end = await serverThat((_request, response) => response.end('end'));
  const { url } = await serverThat(redirectTo(`${end.url}/x`));
  expect(await guardedFetch(url, LOCAL)).toMatchObject({ url: `${end.url}/x`, kind: 'loopback' });
});

verifies('A7', 'leaves names to the proxy of the environment, and checks literal addresses itself', async () => {
  const tunnels: string[] = [];
  const proxy = await serverThat((_request, response) => response.end());
  proxy.server.on('connect', (request, socket) => {
    tunnels.push(String(request.url));
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  const resolve = () => Promise.reject(new Error('resolved'));
  const env = { HTTP_PROXY: proxy.url, NO_PROXY: 'direct.example' };
  const send = (address: string, source = LOCAL.source) =>
    guardedFetch(address, { resolve, env, source }).catch(({ message }) => message);
  expect(await send('https://as.example/token')).toMatch(/^as\.example cannot be reached/);
  expect(tunnels).toEqual(['as.example:443']);
  expect(await send('https://direct.example/')).toMatch(/^direct\.example cannot be reached/);
  expect(await send('https://169.254.169.254/')).toMatch(/is at a special address/);
  expect(await send('https://10.0.0.1/')).toMatch(/is at an address of a private network/);
  expect(await send('http://as.example/')).toMatch(/is not https/);
  expect(tunnels).toHaveLength(1);
  expect((await guardedFetch(proxy.url, { ...LOCAL, env: { HTTP_PROXY: 'http://127.0.0.1:1' } })).status).toBe(200);
  await expect(guardedFetch('https://a.example', { env: { HTTPS_PROXY: 'http://[' } })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
  });
});

verifies('A7', 'reads one megabyte and no more', async () => {
  const { url } = await serverThat((request, response) =>
    response.end(Buffer.alloc(1024 * 1024 + (request.url === '/more' ? 1 : 0))),
  );
  expect((await guardedFetch(url, LOCAL)).body).toHaveLength(1024 * 1024);
  await expect(guardedFetch(`${url}/more`, LOCAL)).rejects.toThrow('more than 1048576 bytes');
});

verifies('A7', 'gives up in time, be it the server or the name server that is silent', async () => {
  const { url } = await serverThat((_request, response) => void response.writeHead(200).write('a bit'));
  const quick = { ...LOCAL, timeoutMs: 50 };
  await expect(guardedFetch(url, quick)).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
  const resolve = () => new Promise<never>(() => {});
  await expect(guardedFetch('https://h/', { ...quick, resolve })).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
});

it('stops when the caller does', async () => {
  const stop = new AbortController();
  const { url } = await serverThat(() => stop.abort());
  await expect(guardedFetch(url, { ...LOCAL, signal: stop.signal })).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
});

it('says why a host cannot be reached, and repeats nothing that a server said', async () => {
  const gone = await serverThat((_request, response) => response.end());
  const closed = `http://127.0.0.1:${gone.port === 1 ? 2 : 1}/path?token=secret`;
  await expect(guardedFetch(closed, LOCAL)).rejects.toThrow(/^127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\)\.$/);
  const squeezed = await serverThat((_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end('secret'),
  );
  await expect(guardedFetch(squeezed.url, LOCAL)).rejects.toThrow(/answers compressed/);
});
