import { expect } from 'vitest';
import { memoryStore } from '../../../test/memory-store.ts';
import { verifies } from '../../../test/requirements.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Grant, TokenVault } from '../../store/token-vault.ts';
import { TOKEN_LEASE_MS, tokenLeaseName } from './token-lease.ts';
import { isDue, lasts } from './token-lifetime.ts';
import { type TokenSourceOptions, tokenSource } from './token-source.ts';

const SERVER = 'https://mcp.example/mcp';
const NOW = 1_000_000_000;
const HOUR = 3_600_000;
const signal = new AbortController().signal;

const grantOf = (fields: Partial<Grant> = {}): Grant => ({
  issuer: 'https://as.example',
  resource: SERVER,
  principal: 'shared',
  serverUrl: SERVER,
  accessToken: 'a1',
  tokenType: 'Bearer',
  expiresAt: NOW + HOUR,
  receivedAt: NOW,
  refreshToken: 'r1',
  scopes: [],
  clientId: 'c',
  ...fields,
});

async function setup(stored: readonly Grant[], options: Partial<TokenSourceOptions> = {}) {
  const time = { now: NOW };
  const { vault, leases } = await memoryStore(() => time.now, stored);
  const requests: (Grant | undefined)[] = [];
  const open = (more: Partial<TokenSourceOptions> = {}) =>
    tokenSource({
      ...{ vault, leases, serverUrl: SERVER, principal: 'shared', clock: () => time.now },
      async renew(previous) {
        requests.push(previous);
        const count = requests.length + 1;
        const times = { receivedAt: time.now, expiresAt: time.now + HOUR };
        return grantOf({ ...times, accessToken: `a${count}`, refreshToken: `r${count}` });
      },
      ...options,
      ...more,
    });
  return { time, vault, leases, requests, open };
}

const refusing = (code: 'AUTH_REFUSED' | 'UPSTREAM_UNREACHABLE', details = {}) => ({
  renew: () => Promise.reject(new HeddleError(code, 'The authorization server as.example failed.', { details })),
});

verifies('A3', 'renews when 60 s or a tenth of the lifetime remain, and tolerates clocks that differ by 60 s', () => {
  const hour = grantOf();
  expect([isDue(hour, NOW + HOUR - 60_001), isDue(hour, NOW + HOUR - 60_000)]).toEqual([false, true]);
  const short = grantOf({ expiresAt: NOW + 30_000 });
  expect([isDue(short, NOW), isDue(short, NOW + 26_999), isDue(short, NOW + 27_000)]).toEqual([false, false, true]);
  expect([lasts(hour, NOW + HOUR + 59_999), lasts(hour, NOW + HOUR + 60_000)]).toEqual([true, false]);
  const { expiresAt: _, ...endless } = hour;
  expect([isDue(endless, NOW * 2), lasts(endless, NOW * 2)]).toEqual([false, true]);
});

verifies('A3', 'returns valid tokens synchronously', async () => {
  const source = (await setup([grantOf()])).open();
  expect(source.current()).toBeUndefined();
  expect(await source.fresh(signal)).toMatchObject({ accessToken: 'a1' });
  expect(source.fresh(signal)).toMatchObject({ accessToken: 'a1' });
});

verifies('A3', 'notices at the next request that another process removed or replaced the tokens', async () => {
  const { time, vault, leases, open } = await setup([grantOf()]);
  const source = open({ renew: async () => undefined });
  expect(await source.fresh(signal)).toMatchObject({ accessToken: 'a1' });
  const lease = await leases.acquire(tokenLeaseName(SERVER, 'shared'), 1000);
  await vault.put(grantOf({ accessToken: 'other' }), lease?.epoch ?? 0);
  if (lease) await leases.release(lease);
  time.now += 100;
  expect(await source.fresh(signal)).toMatchObject({ accessToken: 'other' });
  expect(source.fresh(signal)).toMatchObject({ accessToken: 'other' });
  await vault.remove(SERVER, 'shared');
  time.now += 100;
  expect(await source.fresh(signal)).toBeUndefined();
});

verifies('A3', 'goes on with its tokens while the store cannot be read', async () => {
  const { time, vault, open } = await setup([grantOf()]);
  const broken = { ...vault };
  const source = open({ vault: broken });
  expect(await source.fresh(signal)).toMatchObject({ accessToken: 'a1' });
  broken.version = () => Promise.reject(new HeddleError('STORE_UNAVAILABLE', 'The store is away.'));
  time.now += 100;
  expect(await source.fresh(signal)).toMatchObject({ accessToken: 'a1' });
});

verifies('A3', 'makes one token request for 100 requests of four sources with expired tokens', async () => {
  const { time, open, requests, vault } = await setup([grantOf()]);
  time.now += HOUR;
  const sources = [open(), open(), open(), open()];
  const grants = await Promise.all(Array.from({ length: 100 }, (_, at) => sources[at % 4]?.fresh(signal)));
  expect(new Set(grants.map((grant) => grant?.accessToken))).toEqual(new Set(['a2']));
  expect(requests.map((previous) => previous?.refreshToken)).toEqual(['r1']);
  expect((await vault.find(SERVER, 'shared'))?.refreshToken).toBe('r2');
});

verifies('A3', 'makes one token request for four processes, which share only the store', async () => {
  const { time, open, requests, vault } = await setup([grantOf()]);
  time.now += HOUR;
  const processes = Array.from({ length: 4 }, () => open({ vault: { ...vault } }));
  const grants = await Promise.all(processes.map((source) => source.fresh(signal)));
  expect(grants.map((grant) => grant?.accessToken)).toEqual(['a2', 'a2', 'a2', 'a2']);
  expect(requests).toHaveLength(1);
});

verifies('A3', 'waits for the lease of another process and uses the tokens that it wrote', async () => {
  const { time, open, requests, vault, leases } = await setup([grantOf()]);
  time.now += HOUR;
  const lease = await leases.acquire(tokenLeaseName(SERVER, 'shared'), 20_000);
  const waiting = open().fresh(signal);
  const times = { receivedAt: time.now, expiresAt: time.now + HOUR };
  await vault.put(grantOf({ ...times, accessToken: 'other' }), lease?.epoch ?? 0);
  expect(await waiting).toMatchObject({ accessToken: 'other' });
  expect(requests).toEqual([]);
});

verifies('A3', 'renews after the lease of a killed process has expired, 15 s at most', async () => {
  expect(TOKEN_LEASE_MS).toBeLessThanOrEqual(15_000);
  const { time, open, requests, leases } = await setup([grantOf()]);
  time.now += HOUR;
  await leases.acquire(tokenLeaseName(SERVER, 'shared'), TOKEN_LEASE_MS);
  const waiting = open().fresh(signal);
  time.now += TOKEN_LEASE_MS + 1;
  expect(await waiting).toMatchObject({ accessToken: 'a2' });
  expect(requests).toHaveLength(1);
});

verifies('A3', 'uses no tokens that the vault rejected, because a newer lease had written', async () => {
  const { time, open, vault } = await setup([grantOf()]);
  time.now += HOUR;
  const times = { receivedAt: time.now, expiresAt: time.now + HOUR };
  const newer = grantOf({ ...times, accessToken: 'newer' });
  const source = open({
    async renew() {
      await vault.put(newer, 99);
      return grantOf({ ...times, accessToken: 'late' });
    },
  });
  expect(await source.fresh(signal)).toMatchObject({ accessToken: 'newer' });
});

verifies('A3', 'writes new tokens before it returns them, and keeps those that could not be written', async () => {
  const { time, open, vault, leases, requests } = await setup([grantOf()]);
  time.now += HOUR;
  let isFull = true;
  const put: TokenVault['put'] = (grant, epoch) =>
    isFull ? Promise.reject(new Error('disk full')) : vault.put(grant, epoch);
  const source = open({ vault: { ...vault, put } });
  await expect(source.fresh(signal)).rejects.toThrow('disk full');
  isFull = false;
  expect(await source.fresh(signal)).toMatchObject({ accessToken: 'a2' });
  expect((await vault.find(SERVER, 'shared'))?.accessToken).toBe('a2');
  expect(requests).toHaveLength(1);
  const later = await leases.acquire('another', 1);
  await vault.put(grantOf(), later?.epoch ?? 0);
  expect(await source.renewAfter(grantOf({ accessToken: 'a2' }), signal)).toMatchObject({ accessToken: 'a3' });
});

verifies('A3', 'renews refused tokens once, and returns those of another process without a request', async () => {
  const { open, requests, vault } = await setup([grantOf()]);
  const source = open();
  const refused = (await source.fresh(signal)) as Grant;
  const all = await Promise.all(Array.from({ length: 100 }, () => source.renewAfter(refused, signal)));
  expect(new Set(all.map((grant) => grant?.accessToken))).toEqual(new Set(['a2']));
  const stale = open({ vault: { ...vault } });
  await stale.fresh(signal);
  await vault.put(grantOf({ accessToken: 'other' }), 99);
  expect(await stale.renewAfter(stale.current() as Grant, signal)).toMatchObject({ accessToken: 'other' });
  expect(requests).toHaveLength(1);
});

verifies('A3', 'reads the vault again after invalid_grant, and fails only if it is unchanged', async () => {
  const { time, open, vault } = await setup([grantOf()]);
  time.now += HOUR;
  const winner = grantOf({ accessToken: 'winner', receivedAt: time.now, expiresAt: time.now + HOUR });
  const invalid = refusing('AUTH_REFUSED', { oauthError: 'invalid_grant' });
  await expect(open(invalid).fresh(signal)).rejects.toMatchObject({ code: 'AUTH_REFUSED' });
  expect(await vault.find(SERVER, 'shared')).toEqual(grantOf());
  const loser = open({
    async renew() {
      await vault.put(winner, 99);
      return invalid.renew();
    },
  });
  expect(await loser.fresh(signal)).toEqual(winner);
});

verifies('A3', 'uses the access token while it lasts when the authorization server is down', async () => {
  const { time, open, vault } = await setup([grantOf()]);
  const down = open(refusing('UPSTREAM_UNREACHABLE'));
  time.now += HOUR - 30_000;
  expect(await down.fresh(signal)).toMatchObject({ accessToken: 'a1' });
  expect(down.fresh(signal)).toMatchObject({ accessToken: 'a1' });
  time.now += 90_000;
  await expect(down.fresh(signal)).rejects.toMatchObject({
    code: 'UPSTREAM_UNREACHABLE',
    message: expect.stringContaining('as.example'),
  });
  expect(await vault.find(SERVER, 'shared')).toEqual(grantOf());
});

verifies('A3', 'uses a token that cannot be renewed until it expires, without taking the lease', async () => {
  const { refreshToken: _, ...grant } = grantOf();
  const { time, open, leases } = await setup([grant]);
  const acquire = () => Promise.reject(new Error('No lease is needed.'));
  const source = open({
    leases: { ...leases, acquire },
    prepare: async (previous) => previous?.refreshToken !== undefined,
  });
  time.now += HOUR - 1;
  expect(await source.fresh(signal)).toMatchObject({ accessToken: 'a1' });
  time.now += 60_002;
  expect(await source.fresh(signal)).toBeUndefined();
});

verifies('A3', 'takes a grant of another client than the configured one for none', async () => {
  const source = (await setup([grantOf()])).open({ accepts: () => false, prepare: async () => false });
  expect(await source.fresh(signal)).toBeUndefined();
  expect(await source.reread()).toBeUndefined();
});

verifies('A3', 'lets a cancelled request leave the renewal, which goes on for the others', async () => {
  const { time, open } = await setup([grantOf()]);
  time.now += HOUR;
  const renewals = new Set<Promise<unknown>>();
  const started = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<Grant>();
  const source = open({
    renewals,
    renew() {
      started.resolve();
      return finish.promise;
    },
  });
  const controller = new AbortController();
  const cancelled = source.fresh(controller.signal);
  const other = source.fresh(signal);
  await started.promise;
  controller.abort();
  await expect(cancelled).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(renewals.size).toBe(1);
  finish.resolve(grantOf({ accessToken: 'a2', expiresAt: time.now + HOUR }));
  expect(await other).toMatchObject({ accessToken: 'a2' });
  expect(renewals.size).toBe(0);
});
