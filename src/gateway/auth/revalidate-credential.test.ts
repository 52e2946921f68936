import { once } from 'node:events';
import { expect } from 'vitest';
import { WebSocket } from 'ws';
import { verifies } from '../../../test/requirements.ts';
import { signedToken } from '../../../test/servers/issuer.ts';
import { tokenGateway } from '../../../test/servers/token-gateway.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import type { Timer } from '../../core/time.ts';
import { type GatewayUnderTest, gatewayUnderTest, JSON_HEADERS, modern, OWNER, openSession } from '../fixtures.ts';

/** A timer that fires when the test says so. */
function manualTimer() {
  const callbacks = new Set<() => void>();
  const timer: Timer = (_delayMs, callback) => {
    callbacks.add(callback);
    return () => void callbacks.delete(callback);
  };
  const fire = () => {
    const due = [...callbacks];
    callbacks.clear();
    for (const callback of due) callback();
  };
  return { timer, fire, size: () => callbacks.size };
}

const bearer = (token: string) => ({ ...JSON_HEADERS, authorization: `Bearer ${token}` });

/** Collects the text of a stream until it ends. */
function collect(response: Response) {
  const stream = { status: response.status, text: '', ended: false };
  const decoder = new TextDecoder();
  void (async () => {
    for await (const chunk of response.body ?? []) stream.text += decoder.decode(chunk, { stream: true });
    stream.ended = true;
  })().catch(() => {});
  return stream;
}

/** Opens the notification stream of a new session. */
async function listen({ url, post }: GatewayUnderTest, token: string) {
  const headers = bearer(token);
  const session = await openSession({ post: (message: JsonObject) => post(message, headers) });
  return collect(await fetch(url, { headers: { ...headers, ...session } }));
}

async function subscribe({ url }: GatewayUnderTest, token: string) {
  const [message, headers] = modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  return collect(await fetch(url, { method: 'POST', headers: { ...bearer(token), ...headers }, body }));
}

verifies('P4', 'ends the streams of a revoked key and keeps those of other keys', async () => {
  const { timer, fire, size } = manualTimer();
  const gateway = await gatewayUnderTest({ gateway: { timer } });
  const { access } = gateway.heddle;
  const [ada, bob] = await Promise.all(
    ['ada', 'bob'].map((name) => access.createKey(OWNER, { name, roles: ['user'] })),
  );
  const revoked = [await listen(gateway, String(ada)), await subscribe(gateway, String(ada))];
  const valid = [await listen(gateway, String(bob)), await subscribe(gateway, String(bob))];
  const [first] = valid;
  await until('all listen', () => size() === 4);
  const comments = () => first?.text.split('still here').length ?? 0;
  fire();
  await until('the stream is kept', () => comments() === 2 && revoked[0]?.text.includes('still here') === true);
  expect(revoked.map(({ ended }) => ended)).toEqual([false, false]);
  await access.revokeKey(OWNER, 'ada');
  fire();
  await until('those of the key have ended', () => revoked.every(({ ended }) => ended));
  await until('the other is kept', () => comments() === 3);
  expect(revoked[1]?.text).toContain(
    '"error":{"code":-32600,"message":"The credential is unknown, revoked or expired."}',
  );
  expect([valid.map(({ ended }) => ended), size()]).toEqual([[false, false], 2]);
});

verifies('P4', 'closes the WebSocket and SSE connections of a revoked key', async () => {
  const { timer, fire, size } = manualTimer();
  const gateway = await gatewayUnderTest({ gateway: { timer } });
  const { access } = gateway.heddle;
  const key = await access.createKey(OWNER, { name: 'ada', roles: ['user'] });
  const headers = { authorization: `Bearer ${key}` };
  const socket = new WebSocket(gateway.url.replace('http', 'ws'), ['mcp'], { headers });
  const closed = once(socket, 'close');
  await once(socket, 'open');
  const stream = collect(await fetch(gateway.url.replace('/mcp', '/sse'), { headers }));
  await until('both are connected', () => size() === 2);
  fire();
  await until('both were checked', () => size() === 2);
  expect([socket.readyState, stream.ended]).toEqual([WebSocket.OPEN, false]);
  await access.revokeKey(OWNER, 'ada');
  fire();
  await closed;
  await until('the stream has ended', () => stream.ended);
  expect(size()).toBe(0);
});

verifies('P4', 'ends the streams of an expired token, and keeps them while the issuer is down', async () => {
  const { timer, fire, size } = manualTimer();
  const { gateway, key, claims, issuer, advanceSeconds } = await tokenGateway({ gateway: { timer } });
  const stream = await listen(gateway, signedToken(key, { ...claims, exp: claims.exp + 7200 }));
  const short = await listen(gateway, signedToken(key, claims));
  await until('both listen', () => size() === 2);
  advanceSeconds(400);
  fire();
  await until('the expired one has ended', () => short.ended && stream.text.includes('still here'));
  issuer.down = true;
  advanceSeconds(4000); // Keys are used for up to 60 minutes.
  fire();
  await until('the other is kept', () => stream.text.split('still here').length === 3);
  expect(stream.ended).toBe(false);
  advanceSeconds(4000);
  fire();
  await until('it ends when its token has expired', () => stream.ended);
});
