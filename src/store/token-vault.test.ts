import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { type Bench, onEveryDialect } from './fixtures.ts';
import { openStore } from './open-store.ts';
import type { Store } from './store.ts';
import { type Grant, SHARED_PRINCIPAL } from './token-vault.ts';

const SERVER = 'https://mcp.example/mcp';
const OTHER_KEY = 'cd'.repeat(32);

const OWNER = { issuer: 'https://as.example', principal: 'ada' };

const grantOf = (change: Partial<Grant> = {}): Grant => ({
  issuer: 'https://as.example',
  resource: SERVER,
  principal: SHARED_PRINCIPAL,
  serverUrl: SERVER,
  accessToken: 'access-marker',
  tokenType: 'DPoP',
  expiresAt: 10_000,
  receivedAt: 8_000,
  refreshToken: 'refresh-marker',
  idToken: 'id-marker',
  scopes: ['read', 'write'],
  clientId: 'client-1',
  dpopKey: { kty: 'EC', d: 'private-marker' },
  ...change,
});

const reopened = (bench: Bench, env: Record<string, string> = {}): Promise<Store> =>
  openStore({ location: bench.database.location, ...bench.database.keys, env, clock: () => 9_000 });

onEveryDialect((bench) => {
  verifies('A3', 'keeps every field of a grant over a restart, and no token in plain text', async () => {
    expect(await bench.store.vault.put(grantOf(), 1)).toBe(true);
    await bench.store.close();
    bench.store = await reopened(bench);
    expect(await bench.store.vault.find(SERVER, SHARED_PRINCIPAL)).toEqual(grantOf());
    expect(await bench.store.vault.find(SERVER, 'ada')).toBeUndefined();
    expect(await bench.store.vault.find(`${SERVER}/`, SHARED_PRINCIPAL)).toBeUndefined();
    const rows = JSON.stringify(await bench.database.run('SELECT * FROM grants'));
    expect(rows).toContain(SERVER);
    expect(rows).not.toContain('marker');
  });

  verifies('A6', 'names the servers that a principal has grants for, also of an unknown key', async () => {
    const { vault } = bench.store;
    await vault.put(grantOf(), 1);
    await vault.put(grantOf({ serverUrl: 'https://two.example/' }), 1);
    await vault.put(grantOf({ serverUrl: 'https://three.example/', principal: 'ada' }), 1);
    const stranger = await openStore({
      ...{ location: bench.database.location, ...bench.database.keys, clock: () => 9_000 },
      home: `${bench.database.keys.home}/elsewhere`,
    });
    expect(await stranger.vault.serversOf(SHARED_PRINCIPAL)).toEqual([SERVER, 'https://two.example/']);
    expect(await stranger.vault.serversOf('eve')).toEqual([]);
    await stranger.close();
  });

  verifies('A3', 'rejects a write with an older epoch, and accepts one of the same lease', async () => {
    const { vault } = bench.store;
    expect(await vault.put(grantOf({ accessToken: 'second' }), 7)).toBe(true);
    expect(await vault.put(grantOf({ accessToken: 'first' }), 6)).toBe(false);
    expect((await vault.find(SERVER, SHARED_PRINCIPAL))?.accessToken).toBe('second');
    expect(await vault.put(grantOf({ accessToken: 'again' }), 7)).toBe(true);
    expect((await vault.find(SERVER, SHARED_PRINCIPAL))?.accessToken).toBe('again');
  });

  verifies('A3', 'rejects the write of a refresh that began before the grant was removed', async () => {
    const { vault, leases } = bench.store;
    const before = await leases.acquire('refresh', 1_000);
    await vault.put(grantOf(), before?.epoch ?? 0);
    expect(await vault.remove(SERVER, SHARED_PRINCIPAL)).toBe(true);
    expect(await vault.remove(SERVER, SHARED_PRINCIPAL)).toBe(false);
    expect(await vault.put(grantOf(), before?.epoch ?? 0)).toBe(false);
    expect(await vault.find(SERVER, SHARED_PRINCIPAL)).toBeUndefined();
    const after = await leases.acquire('sign-in', 1_000);
    expect(await vault.put(grantOf(), after?.epoch ?? 0)).toBe(true);
  });

  verifies('A3', 'keeps the newest of concurrent writes from several processes', async () => {
    const others = await Promise.all([reopened(bench), reopened(bench), reopened(bench)]);
    const stores = [bench.store, ...others];
    await Promise.all(
      Array.from({ length: 40 }, (_, at) => stores[at % 4]?.vault.put(grantOf({ accessToken: `token ${at}` }), at)),
    );
    for (const { vault } of stores) expect((await vault.find(SERVER, SHARED_PRINCIPAL))?.accessToken).toBe('token 39');
    await Promise.all(others.map((store) => store.close()));
  });

  it('replaces the grant of another issuer and spares other principals and servers', async () => {
    const { vault } = bench.store;
    await vault.put(grantOf({ principal: 'ada' }), 1);
    await vault.put(grantOf({ serverUrl: 'https://two.example/' }), 2);
    await vault.put(grantOf(), 3);
    await vault.put(grantOf({ issuer: 'https://new.example', resource: 'https://mcp.example' }), 4);
    expect((await vault.find(SERVER, SHARED_PRINCIPAL))?.issuer).toBe('https://new.example');
    expect((await vault.labels()).map(({ serverUrl, principal, issuer }) => [serverUrl, principal, issuer])).toEqual([
      [SERVER, 'ada', 'https://as.example'],
      [SERVER, SHARED_PRINCIPAL, 'https://new.example'],
      ['https://two.example/', SHARED_PRINCIPAL, 'https://as.example'],
    ]);
    await vault.remove(SERVER, 'ada');
    expect(await vault.find('https://two.example/', SHARED_PRINCIPAL)).toBeDefined();
  });

  verifies('A4', 'keeps one DPoP key per issuer and principal, the first of concurrent ones, sealed', async () => {
    const others = await Promise.all([reopened(bench), reopened(bench)]);
    const keys = await Promise.all(
      [bench.store, ...others].map(({ vault }, at) => vault.dpopKey(OWNER, () => ({ d: `marker ${at}` }))),
    );
    expect(new Set(keys.map(({ d }) => d)).size).toBe(1);
    expect(await bench.store.vault.dpopKey({ ...OWNER, principal: 'bob' }, () => ({ d: 'bob' }))).toEqual({ d: 'bob' });
    expect(JSON.stringify(await bench.database.run('SELECT * FROM dpop_keys'))).not.toContain('marker');
    await Promise.all(others.map((store) => store.close()));
  });

  it('labels grants without their tokens', async () => {
    const { refreshToken: _, expiresAt: __, ...endless } = grantOf({ principal: 'bob' });
    await bench.store.vault.put(endless, 1);
    await bench.store.vault.put(grantOf(), 1);
    const shared = { serverUrl: SERVER, issuer: 'https://as.example', resource: SERVER, receivedAt: 8_000 };
    expect(await bench.store.vault.labels()).toEqual([
      { ...shared, principal: 'bob', scopes: ['read', 'write'], isRenewable: false },
      { ...shared, principal: SHARED_PRINCIPAL, scopes: ['read', 'write'], isRenewable: true, expiresAt: 10_000 },
    ]);
  });

  verifies('A3', 'opens a row only under its own issuer, resource, principal and server', async () => {
    const { vault } = bench.store;
    for (const change of ["issuer = 'https://evil.example'", "resource = 'https://evil.example'"]) {
      await vault.put(grantOf(), 1);
      await bench.database.run(`UPDATE grants SET ${change}`);
      await expect(vault.find(SERVER, SHARED_PRINCIPAL)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    }
    await vault.put(grantOf(), 1);
    await bench.database.run("UPDATE grants SET principal = 'eve'");
    await expect(vault.find(SERVER, 'eve')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await bench.database.run("UPDATE grants SET server_url = 'https://evil.example'");
    await expect(vault.find('https://evil.example', 'eve')).rejects.toThrow(/was changed/);
  });

  verifies('A3', 'reports a grant of an unknown key, and never overwrites it', async () => {
    await bench.store.vault.put(grantOf(), 1);
    const other = await reopened(bench, { HEDDLE_SECRET_KEY: OTHER_KEY });
    // Without the file no place has the first key.
    const stranger = await openStore({
      location: bench.database.location,
      ...bench.database.keys,
      home: join(bench.database.keys.home, 'elsewhere'),
      env: { HEDDLE_SECRET_KEY: OTHER_KEY },
    });
    expect(await other.vault.find(SERVER, SHARED_PRINCIPAL)).toEqual(grantOf());
    const error = await stranger.vault.find(SERVER, SHARED_PRINCIPAL).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(SERVER) });
    const [label] = await stranger.vault.labels();
    expect(label).toMatchObject({ serverUrl: SERVER, unknownKey: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(error.message).toContain(label?.unknownKey);

    expect(await stranger.vault.put(grantOf({ accessToken: 'new' }), 2)).toBe(true);
    expect((await stranger.vault.find(SERVER, SHARED_PRINCIPAL))?.accessToken).toBe('new');
    expect(await bench.database.run('SELECT * FROM grants')).toHaveLength(2);
    expect((await bench.store.vault.find(SERVER, SHARED_PRINCIPAL))?.accessToken).toBe('access-marker');
    await Promise.all([other.close(), stranger.close()]);
  });

  verifies('A3', 'seals all rows anew with the chosen key, and leaves those of an unknown key', async () => {
    const registration = { issuer: 'https://as.example', redirectUri: 'http://127.0.0.1/callback', clientId: 'c' };
    await bench.store.vault.put(grantOf(), 1);
    await bench.store.clients.put({ ...registration, clientSecret: 's', metadata: { a: 1 } });
    await bench.store.vault.dpopKey(OWNER, () => ({ d: 'first' }));
    await bench.store.close();
    bench.store = await reopened(bench, { HEDDLE_SECRET_KEY: OTHER_KEY });
    const report = await bench.store.rekey();
    expect(report).toMatchObject({ resealed: 3, unopened: [] });
    expect(await bench.store.rekey()).toEqual({ ...report, resealed: 0 });
    await bench.store.close();

    const home = join(bench.database.keys.home, 'moved');
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'secret-key'), OTHER_KEY, { mode: 0o600 });
    bench.store = await openStore({ location: bench.database.location, ...bench.database.keys, home });
    expect(await bench.store.vault.find(SERVER, SHARED_PRINCIPAL)).toEqual(grantOf());
    expect(await bench.store.clients.find('https://as.example')).toMatchObject([{ clientSecret: 's' }]);
    expect(await bench.store.vault.dpopKey(OWNER, () => ({ d: 'second' }))).toEqual({ d: 'first' });
    await bench.store.close();

    const lost = { ...bench.database.keys, home: join(home, 'lost'), env: { HEDDLE_SECRET_KEY: 'ef'.repeat(32) } };
    bench.store = await openStore({ location: bench.database.location, ...lost });
    expect(await bench.store.rekey()).toMatchObject({ resealed: 0, unopened: [{ key: report.key, rows: 3 }] });
    expect(await bench.database.run('SELECT * FROM grants')).toHaveLength(1);
  });

  verifies('A3', 'opens rows of HEDDLE_PREVIOUS_SECRET_KEY, also of a passphrase, while the key changes', async () => {
    const first = await reopened(bench, { HEDDLE_SECRET_KEY: 'correct horse' });
    await first.vault.put(grantOf(), 1);
    await first.close();
    const both = { HEDDLE_SECRET_KEY: 'battery staple', HEDDLE_PREVIOUS_SECRET_KEY: 'correct horse' };
    const second = await reopened(bench, both);
    expect(await second.vault.find(SERVER, SHARED_PRINCIPAL)).toEqual(grantOf());
    expect(await second.rekey()).toMatchObject({ resealed: 1 });
    await second.close();
    const third = await reopened(bench, { HEDDLE_SECRET_KEY: 'battery staple' });
    expect(await third.vault.find(SERVER, SHARED_PRINCIPAL)).toEqual(grantOf());
    await third.close();
  });
});
