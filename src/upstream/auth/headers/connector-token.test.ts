import { expect, it } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import type { Refusal } from '../credential.ts';
import { connectorToken } from './connector-token.ts';

const url = new URL('https://hub.example/mcp/one');
const request = { method: 'POST', url };
const { signal } = new AbortController();
const connector = (token: string, name = 'hub', origin = url.origin) => ({ name, url: `${origin}/servers`, token });

function opened(read: () => string) {
  let reads = 0;
  const other = connector('other', 'other', 'https://other.example');
  const tokens = {
    current: () => [other, connector('old')],
    reread: async () => {
      reads++;
      return [other, connector(read())];
    },
  };
  return { credential: connectorToken({ server: 'demo', url: url.href, tokens }), reads: () => reads };
}

const refusal = (token: string, more: Partial<Refusal> = {}): Refusal => ({
  ...{ status: 401, challenges: [], headers: {}, url, sent: { authorization: `Bearer ${token}` }, isRetry: false },
  ...more,
});

verifies('C2', 'sends the token of the connector at the same origin, and of no other', () => {
  expect(opened(() => '').credential.headersFor(request)).toEqual({ authorization: 'Bearer old' });
});

verifies('C2', 'reads the token again after a 401, once for all refused requests', async () => {
  const { credential, reads } = opened(() => 'new');
  const all = await Promise.all([1, 2].map(() => credential.onRefused(refusal('old'), signal)));
  expect([all, credential.headersFor(request), reads()]).toEqual([[true, true], { authorization: 'Bearer new' }, 1]);
  expect(await credential.onRefused(refusal('old'), signal)).toBe(true);
  expect(await credential.onRefused(refusal('new', { isRetry: true }), signal)).toBe(false);
  expect(reads()).toBe(1);
});

it('reads no token again after a 403', async () => {
  const { credential, reads } = opened(() => 'new');
  expect([await credential.onRefused(refusal('old', { status: 403 }), signal), reads()]).toEqual([false, 0]);
});

it('has another fingerprint for another token, and names the connector in its fix', async () => {
  const { credential } = opened(() => 'new');
  const before = credential.fingerprint?.();
  await credential.onRefused(refusal('old'), signal);
  expect(credential.fingerprint?.()).not.toBe(before);
  expect([credential.fix, before]).toEqual([expect.stringContaining('`hub`'), expect.not.stringContaining('old')]);
});
