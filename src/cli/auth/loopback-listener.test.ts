import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { RedirectNeed } from '../../core/records/sign-in.ts';
import { openLoopbackListener } from './loopback-listener.ts';

const STATE = 'the-state-of-this-sign-in';
const DONE = { title: 'Signed in', text: 'Close this window.' };

async function open(need: RedirectNeed = { host: '127.0.0.1' }) {
  const listener = await openLoopbackListener(need);
  if (!listener) throw new Error('The port is taken.');
  onTestFinished(() => listener.close());
  return listener;
}

interface Sent {
  readonly path?: string;
  readonly method?: string;
  readonly host?: string;
  /** The address to connect to. */
  readonly to?: string;
}

/** Sends one request to the listener. */
function send(redirectUri: string, { path, method = 'GET', host, to = '127.0.0.1' }: Sent) {
  const url = new URL(redirectUri);
  return new Promise<{ status: number; text: string; headers: NodeJS.Dict<string | string[]> }>((resolve, reject) => {
    const options = {
      host: to,
      port: url.port,
      method,
      path: path ?? url.pathname,
      headers: { host: host ?? url.host },
    };
    request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }));
    })
      .on('error', reject)
      .end();
  });
}

const right = `/callback?code=c1&state=${STATE}&iss=https%3A%2F%2Fas.example`;

describe('the loopback listener', () => {
  verifies(
    'A2',
    'receives the redirect with the right path, Host and state, and shows the end of the sign-in',
    async () => {
      const { redirectUri, receive } = await open();
      expect(redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
      const redirect = receive(STATE);
      const response = send(redirectUri, { path: right });
      const { query, respond } = await redirect;
      expect(query).toBe(right.slice('/callback?'.length));
      respond(DONE);
      const { status, text, headers } = await response;
      expect([status, text]).toEqual([200, expect.stringContaining('<h1>Signed in</h1><p>Close this window.</p>')]);
      expect(headers).toMatchObject({
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      });
      expect(text).not.toContain('c1');
    },
  );

  it.each<[string, Sent, number]>([
    ['another Host', { path: right, host: 'evil.example' }, 421],
    ['the Host of another port', { path: right, host: '127.0.0.1:1' }, 421],
    ['localhost where 127.0.0.1 is registered', { path: right, host: 'localhost' }, 421],
    ['another path', { path: right.replace('/callback', '/callback/x') }, 404],
    ['the icon that browsers ask for', { path: '/favicon.ico' }, 404],
    ['POST', { path: right, method: 'POST' }, 405],
    ['HEAD, as a link scanner sends it', { path: right, method: 'HEAD' }, 405],
    ['another state', { path: right.replace(STATE, 'other') }, 400],
    ['no state', { path: '/callback?code=c1' }, 400],
    ['an empty query', { path: '/callback' }, 400],
    ['two states', { path: `${right}&state=other` }, 400],
    ['an error with another state', { path: '/callback?error=access_denied&state=other' }, 400],
  ])('A2: refuses %s, and goes on waiting', async (_, sent, status) => {
    const { redirectUri, receive } = await open();
    const redirect = receive(STATE);
    expect((await send(redirectUri, sent)).status).toBe(status);
    const response = send(redirectUri, { path: right });
    (await redirect).respond(DONE);
    expect((await response).status).toBe(200);
  });

  verifies('A2', 'refuses the right redirect when it comes a second time', async () => {
    const { redirectUri, receive } = await open();
    const redirect = receive(STATE);
    const first = send(redirectUri, { path: right });
    const { respond } = await redirect;
    expect((await send(redirectUri, { path: right.replace('c1', 'c2') })).status).toBe(410);
    respond(DONE);
    expect((await first).status).toBe(200);
    expect((await send(redirectUri, { path: right })).status).toBe(410);
  });

  verifies('A2', 'refuses a redirect before the authorization request was made', async () => {
    const { redirectUri } = await open();
    expect((await send(redirectUri, { path: right })).status).toBe(400);
  });

  verifies('A2', 'receives the redirect to localhost on 127.0.0.1, and on ::1 if the machine has it', async () => {
    const { redirectUri, receive } = await open({ host: 'localhost' });
    expect(redirectUri).toMatch(/^http:\/\/localhost:\d+\/callback$/);
    const redirect = receive(STATE);
    const hasV6 = await canBind('::1');
    const response = send(redirectUri, { path: right, to: hasV6 ? '::1' : '127.0.0.1' });
    (await redirect).respond(DONE);
    expect((await response).status).toBe(200);
    expect((await send(redirectUri, { path: right, to: '127.0.0.1' })).status).toBe(410);
  });

  verifies('A2', 'does not listen on another port than the registered one', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    expect(await openLoopbackListener({ host: '127.0.0.1', port })).toBeUndefined();
  });

  verifies('A2', 'takes a port as taken that another program holds on ::1', async () => {
    if (!(await canBind('::1'))) return;
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '::1', resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    expect(await openLoopbackListener({ host: 'localhost', port })).toBeUndefined();
    expect(await canBind('127.0.0.1', port)).toBe(true); // Nothing stays bound.
  });

  verifies('A2', 'answers a redirect whose sign-in was not completed before it closes', async () => {
    const listener = await open();
    const redirect = listener.receive(STATE);
    const response = send(listener.redirectUri, { path: right });
    await redirect;
    await listener.close();
    expect((await response).text).toContain('The sign-in was not completed.');
    expect(await canBind('127.0.0.1', Number(new URL(listener.redirectUri).port))).toBe(true);
  });
});

const canBind = (host: string, port = 0): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host, port }, () => server.close(() => resolve(true)));
  });
