import { describe, expect } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { verifies } from '../requirements.ts';
import { scriptedBrowser } from '../servers/scripted-browser.ts';
import { pageIn, type SignInGatewayOptions, signInGateway, textOf } from '../servers/sign-in-gateway.ts';

/** Opens a gateway whose caller `ada` has called a tool and has got the address of a page. */
async function withPage(options: SignInGatewayOptions = {}, caller = 'ada') {
  const opened = await signInGateway(options);
  const credential = await opened.credentialOf(caller);
  const result = await opened.call(credential);
  const page = pageIn(textOf(result));
  expect(result).toMatchObject({ isError: true });
  expect(page).toMatch(new RegExp(`^${opened.origin}/connect/[\\w-]{43}$`));
  return { ...opened, credential, page };
}

verifies('A6', 'signs the caller of an API key in after it typed the key in', async () => {
  const { page, credential, call, authorizationServer, server, origin } = await withPage();
  const browser = scriptedBrowser();
  const shown = await browser.open(page);
  expect(shown.status).toBe(200);
  for (const text of ['notes', server.url, authorizationServer.issuer, 'key:ada']) expect(shown.body).toContain(text);
  expect(shown.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  expect(shown.headers.get('referrer-policy')).toBe('same-origin');
  expect(shown.body).not.toContain('<script');

  const login = await browser.submit(shown, { credential });
  expect(browser.setCookies[0]).toMatch(/; HttpOnly; SameSite=Lax/);
  const end = await browser.submit(login, { login: 'ada@notes' });
  expect([end.status, new URL(end.url).origin]).toEqual([200, origin]);
  expect(end.body).toContain('Signed in');
  expect(textOf(await call(credential))).toBe('ada@notes');
  // The ticket, the redirect and its cookie are used up.
  expect((await browser.open(page)).status).toBe(404);
  expect((await browser.open(end.url)).status).toBe(403);
});

verifies('A6', 'identifies the caller of an inbound token at the issuer of the gateway', async () => {
  const { page, credential, call } = await withPage({ hasIssuer: true });
  const browser = scriptedBrowser();
  const atIssuer = await browser.submit(await browser.open(page));
  const atServer = await browser.submit(atIssuer, { login: 'ada' });
  const end = await browser.submit(atServer, { login: 'ada@notes' });
  expect(end.body).toContain('Signed in');
  expect(textOf(await call(credential))).toBe('ada@notes');
});

verifies('A6', 'takes the ticket of the owner for an identification on loopback', async () => {
  const { page, credential, call } = await withPage({}, 'owner');
  const browser = scriptedBrowser();
  const atServer = await browser.submit(await browser.open(page));
  expect((await browser.submit(atServer, { login: 'me@notes' })).body).toContain('Signed in');
  expect(textOf(await call(credential))).toBe('me@notes');
});

verifies('A6', 'refuses a form that a page of another origin sent, and keeps the ticket', async () => {
  const gateway = { allowedOrigins: ['https://app.example'] };
  const { page, credential, origin, authorizationServer } = await withPage({ gateway });
  const port = new URL(page).port;
  const send = (from: string, fields = { credential }) =>
    fetch(page, { method: 'POST', headers: { origin: from }, body: new URLSearchParams(fields), redirect: 'manual' });
  const foreign = [
    'https://evil.example',
    'null',
    '',
    'https://app.example',
    `https://127.0.0.1:${port}`,
    `${origin}1`,
  ];
  for (const from of [...foreign, `${origin}, ${origin}`])
    expect([from, (await send(from)).status]).toEqual([from, 403]);
  expect(authorizationServer.counts).toMatchObject({ authorize: 0, registration: 0 });
  const plain = { method: 'POST', body: new URLSearchParams({ credential: 'wrong' }) };
  expect(await (await fetch(page, plain)).text()).toContain('not the credential of key:ada');
  expect((await send(origin)).status).toBe(303);
});

verifies('A6', 'takes the origin of publicUrl for its own, and not the same host over http', async () => {
  const { gateway } = await signInGateway({ gateway: { publicUrl: 'https://gateway.example' } });
  const statusOf = async (host: string, origin: string) =>
    (
      await gateway.send({
        path: '/connect/unknown',
        headers: { host, origin, 'content-type': 'text/plain' },
        body: '',
      })
    ).status;
  // 404: the request was admitted, and there is no such ticket.
  expect(await statusOf('gateway.example', 'https://gateway.example')).toBe(404);
  expect(await statusOf('127.0.0.1', 'https://gateway.example')).toBe(404);
  expect(await statusOf('gateway.example', 'http://gateway.example')).toBe(403);
  expect(await statusOf('evil.example', 'http://evil.example')).toBe(403);
});

describe('a person with the link of another caller', () => {
  verifies('A6', 'is refused with another API key', async () => {
    const { page, credential, call, credentialOf, authorizationServer } = await withPage();
    const mallory = scriptedBrowser();
    const shown = await mallory.open(page);
    const refused = await mallory.submit(shown, { credential: await credentialOf('mallory') });
    expect(refused.status).toBe(403);
    expect(refused.body).toContain('not the credential of key:ada');
    expect(authorizationServer.counts).toMatchObject({ authorize: 0, registration: 0 });
    // The ticket still works for its own caller.
    const ada = scriptedBrowser();
    const login = await ada.submit(await ada.open(page), { credential });
    await ada.submit(login, { login: 'ada@notes' });
    expect(textOf(await call(credential))).toBe('ada@notes');
  });

  verifies('A6', 'is refused as another user of the issuer', async () => {
    const { page, credential, call, authorizationServer } = await withPage({ hasIssuer: true });
    const browser = scriptedBrowser();
    const refused = await browser.submit(await browser.submit(await browser.open(page)), { login: 'mallory' });
    expect(refused.status).toBe(400);
    expect(refused.body).toContain('not for you');
    expect(authorizationServer.counts.authorize).toBe(0);
    expect(await call(credential)).toMatchObject({ isError: true });
  });

  verifies('A6', 'is refused if the issuer gives the gateway a pairwise `sub`', async () => {
    const { page } = await withPage({ hasIssuer: true, issuer: { isPairwise: true } });
    const browser = scriptedBrowser();
    const refused = await browser.submit(await browser.submit(await browser.open(page)), { login: 'ada' });
    expect(refused.status).toBe(400);
    expect(refused.body).toContain('pairwise');
  });

  verifies('A6', 'stores no token of hers with a forwarded authorization URL', async () => {
    for (const hasIssuer of [false, true]) {
      const { page, credential, call, authorizationServer, origin } = await withPage({ hasIssuer });
      const mallory = scriptedBrowser();
      const shown = await mallory.open(page);
      const stop = authorizationServer.issuer;
      // The caller stops before the authorization server and sends the URL to another person.
      const forwarded = hasIssuer
        ? await mallory.submit(await mallory.submit(shown), { login: 'ada' }, stop)
        : await mallory.submit(shown, { credential }, stop);
      const victim = scriptedBrowser();
      const end = await victim.signIn(forwarded.url, 'victim@notes');
      expect([end.status, new URL(end.url).origin]).toEqual([403, origin]);
      expect(end.body).toContain('Nothing was stored');
      expect(await call(credential)).toMatchObject({ isError: true });
      expect(authorizationServer.counts.token).toBe(0);
    }
  });
});

verifies('A6', 'rejects a callback without, with another and with a repeated state, and by POST', async () => {
  const { origin } = await signInGateway();
  const statuses = await Promise.all([
    fetch(`${origin}/oauth/callback`),
    fetch(`${origin}/oauth/callback?state=unknown&code=x`),
    fetch(`${origin}/oauth/callback?state=a&state=b&code=x`),
    fetch(`${origin}/oauth/callback?state=a&code=x`, { method: 'POST' }),
    fetch(`${origin}/connect/unknown`),
  ]);
  expect(statuses.map(({ status }) => status)).toEqual([400, 403, 400, 405, 404]);
});

verifies('A1', 'publishes the client metadata document at the public address', async () => {
  const { gateway } = await signInGateway({ gateway: { publicUrl: 'https://gateway.example' } });
  const { status, json } = await gateway.send({
    ...{ method: 'GET', path: '/oauth/client.json', headers: { host: 'gateway.example' } },
  });
  expect(status).toBe(200);
  expect(json).toMatchObject({
    client_id: 'https://gateway.example/oauth/client.json',
    redirect_uris: ['https://gateway.example/oauth/callback'],
  } satisfies JsonObject);
});
