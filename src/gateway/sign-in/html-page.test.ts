import type { OutgoingHttpHeaders } from 'node:http';
import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { HttpResponse } from '../response-writer.ts';
import { clearCookie, readCookie, setCookie } from './browser-cookie.ts';
import { clientDocument } from './client-document.ts';
import { type PageResponse, sendPage } from './html-page.ts';

function sent(page: Omit<PageResponse, 'status'>) {
  const received = { headers: {} as OutgoingHttpHeaders, body: '' };
  const response = {
    writeHead(_status: number, headers: OutgoingHttpHeaders) {
      received.headers = headers;
      return response;
    },
    end(body: string) {
      received.body = body;
    },
  };
  sendPage(response as unknown as HttpResponse, { status: 200, ...page });
  return received;
}

verifies('A6', 'shows hostile text of servers and issuers as text, on a page without scripts and frames', () => {
  const { headers, body } = sent({
    title: '<script>alert(1)</script>',
    text: ['"><img src=x onerror=alert(1)>\u202e\u001b[31m', 'y'.repeat(5000)],
    rows: [['Scopes', "' onmouseover='x"]],
    form: { button: 'Continue', credential: '<b>key</b>' },
  });
  for (const text of ['<script', '<img', '<b>', '\u202e', '\u001b']) expect(body).not.toContain(text);
  expect(body).toContain('&lt;script&gt;');
  expect(body).toContain('\\u{202e}');
  expect(body.length).toBeLessThan(4000);
  const policy = String(headers['content-security-policy']);
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain('script');
  expect(headers).toMatchObject({ 'referrer-policy': 'same-origin', 'cache-control': 'no-store' });
});

verifies('A6', 'sets an HttpOnly cookie: __Host- and Secure over https, Lax everywhere', () => {
  const value = 'v'.repeat(43);
  const secure = setCookie({ state: 'one', isSecure: true }, value);
  expect(secure).toMatch(
    /^__Host-heddle-sign-in-[0-9a-f]{16}=v+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600; Secure$/,
  );
  const local = setCookie({ state: 'one', isSecure: false }, value);
  expect(local).toMatch(/^heddle-sign-in-[0-9a-f]{16}=v+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/);
  expect(clearCookie({ state: 'one', isSecure: false })).toContain('Max-Age=0');
  const request = { headers: { cookie: `a=b; ${local.split(';', 1)[0]}; c=d` } };
  expect(readCookie(request, { state: 'one', isSecure: false })).toBe(value);
  expect(readCookie(request, { state: 'two', isSecure: false })).toBeUndefined();
});

it('describes the client under its own URL', () => {
  expect(clientDocument('https://gateway.example')).toMatchObject({
    client_id: 'https://gateway.example/oauth/client.json',
    redirect_uris: ['https://gateway.example/oauth/callback'],
    token_endpoint_auth_method: 'none',
  });
});
