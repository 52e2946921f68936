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
  return { asked, port, url: `http://127.0.0.1:${port}` };
}

const redirectTo =
  (location: string): RequestListener =>
  (_request, response) =>
    response.writeHead(302, { location }).end();

const LOCAL = { allowLoopback: true };

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
  const generous = { ...LOCAL, allowPrivate: true, timeoutMs: 1000 };
  await expect(guardedFetch(inward.url, generous)).rejects.toThrow('10.0.0.1 is at an address of a private network');
  const hop = { url: new URL('https://a.example/'), headers: {}, allowed: new Set(['public'] as const) };
  expect(() => redirected(hop, 'http://a.example/')).toThrow('from https to http');
  expect([...redirected(hop, 'https://b.example/').allowed]).toEqual(['public']);
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
