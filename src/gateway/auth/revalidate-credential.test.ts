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

/** Rings when the test says so. */
function bell() {
  const set = new Set<() => void>();
  const alarm: Timer = (_delayMs, ring) => {
    set.add(ring);
    return () => void set.delete(ring);
  };
  const ring = () => {
    const due = [...set];
    set.clear();
    for (const one of due) one();
  };
  return { alarm, ring, size: () => set.size };
}

const bearer = (token: string) => ({ ...JSON_HEADERS, authorization: `Bearer ${token}` });

/** What is heard on a stream, and whether it is over. */
function heard(response: Response) {
  const stream = { status: response.status, text: '', over: false };
  const decoder = new TextDecoder();
  void (async () => {
    for await (const chunk of response.body ?? []) stream.text += decoder.decode(chunk, { stream: true });
    stream.over = true;
  })().catch(() => {});
  return stream;
}

/** The stream of a session, which says from time to time that it is still there. */
async function listen({ url, post }: GatewayUnderTest, token: string) {
  const headers = bearer(token);
  const session = await openSession({ post: (message: JsonObject) => post(message, headers) });
  return heard(await fetch(url, { headers: { ...headers, ...session } }));
}

async function subscribe({ url }: GatewayUnderTest, token: string) {
  const [message, headers] = modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  return heard(await fetch(url, { method: 'POST', headers: { ...bearer(token), ...headers }, body }));
}

verifies('P4', 'the streams of a key end soon after it is revoked, and those of others do not', async () => {
  const { alarm, ring, size } = bell();
  const gateway = await gatewayUnderTest({ gateway: { timer: alarm } });
  const { access } = gateway.heddle;
  const [ada, bob] = await Promise.all(
    ['ada', 'bob'].map((name) => access.createKey(OWNER, { name, roles: ['user'] })),
  );
  const leaving = [await listen(gateway, String(ada)), await subscribe(gateway, String(ada))];
  const staying = [await listen(gateway, String(bob)), await subscribe(gateway, String(bob))];
  const [first] = staying;
  await until('all listen', () => size() === 4);
  const signs = () => first?.text.split('still here').length ?? 0;
  ring();
  await until('the stream is kept', () => signs() === 2 && leaving[0]?.text.includes('still here') === true);
  expect(leaving.map(({ over }) => over)).toEqual([false, false]);
  await access.revokeKey(OWNER, 'ada');
  ring();
  await until('those of the key have ended', () => leaving.every(({ over }) => over));
  await until('the other is kept', () => signs() === 3);
  expect(leaving[1]?.text).toContain(
    '"error":{"code":-32600,"message":"The credential is unknown, revoked or expired."}',
  );
  expect([staying.map(({ over }) => over), size()]).toEqual([[false, false], 2]);
});

verifies('P4', 'a key that is revoked can no longer call over a line it has opened', async () => {
  const { alarm, ring, size } = bell();
  const gateway = await gatewayUnderTest({ gateway: { timer: alarm } });
  const { access } = gateway.heddle;
  const key = await access.createKey(OWNER, { name: 'ada', roles: ['user'] });
  const headers = { authorization: `Bearer ${key}` };
  const socket = new WebSocket(gateway.url.replace('http', 'ws'), ['mcp'], { headers });
  const closed = once(socket, 'close');
  await once(socket, 'open');
  const stream = heard(await fetch(gateway.url.replace('/mcp', '/sse'), { headers }));
  await until('both have a line', () => size() === 2);
  ring();
  await until('both were looked at', () => size() === 2);
  expect([socket.readyState, stream.over]).toEqual([WebSocket.OPEN, false]);
  await access.revokeKey(OWNER, 'ada');
  ring();
  await closed;
  await until('the stream has ended', () => stream.over);
  expect(size()).toBe(0);
});

verifies('P4', 'the streams of a token end when its time is over, not when its issuer is away', async () => {
  const { alarm, ring, size } = bell();
  const { gateway, key, claims, issuer, later } = await tokenGateway({ gateway: { timer: alarm } });
  const stream = await listen(gateway, signedToken(key, { ...claims, exp: claims.exp + 7200 }));
  const short = await listen(gateway, signedToken(key, claims));
  await until('both listen', () => size() === 2);
  later(400);
  ring();
  await until('the one has ended', () => short.over && stream.text.includes('still here'));
  issuer.down = true;
  later(4000); // Known keys are good for an hour.
  ring();
  await until('the other is kept', () => stream.text.split('still here').length === 3);
  expect(stream.over).toBe(false);
});
