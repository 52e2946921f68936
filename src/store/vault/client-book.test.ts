import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { onEveryDialect } from '../fixtures.ts';
import { openStore } from '../open-store.ts';
import type { ClientRegistration } from './client-book.ts';

const ISSUER = 'https://as.example';

const registrationOf = (change: Partial<ClientRegistration> = {}): ClientRegistration => ({
  issuer: ISSUER,
  redirectUri: 'http://127.0.0.1:4711/callback',
  clientId: 'client-1',
  clientSecret: 'secret-marker',
  secretExpiresAt: 99_000,
  metadata: { client_id: 'client-1', client_secret: 'secret-marker', token_endpoint_auth_method: 'client_secret_post' },
  ...change,
});

onEveryDialect((bench) => {
  verifies('A2', 'keeps whole registrations, secret and redirect included, over a restart', async () => {
    await bench.store.clients.put(registrationOf());
    await bench.store.close();
    bench.store = await openStore({ location: bench.database.location, ...bench.database.keys });
    expect(await bench.store.clients.find(ISSUER)).toEqual([registrationOf()]);
    expect(await bench.store.clients.find(`${ISSUER}/`)).toEqual([]);
    expect(JSON.stringify(await bench.database.run('SELECT * FROM clients'))).not.toContain('marker');
  });

  verifies('A2', 'replaces the registration of the same client and lists the newest first', async () => {
    const { clients } = bench.store;
    await clients.put(registrationOf());
    await clients.put(registrationOf({ clientId: 'client-2' }));
    await clients.put(
      registrationOf({ unansweredSince: 8_000, redirectUri: 'https://gateway.example/oauth/callback' }),
    );
    const found = await clients.find(ISSUER);
    expect(found.map(({ clientId, unansweredSince }) => [clientId, unansweredSince])).toEqual([
      ['client-2', undefined],
      ['client-1', 8_000],
    ]);
    expect(found[1]?.redirectUri).toBe('https://gateway.example/oauth/callback');
    await clients.remove(ISSUER, 'client-1');
    await clients.remove('https://other.example', 'client-2');
    expect((await clients.find(ISSUER)).map(({ clientId }) => clientId)).toEqual(['client-2']);
  });

  verifies('A2', 'keeps a registration of an unknown key beside the new one', async () => {
    await bench.store.clients.put(registrationOf());
    const keys = { ...bench.database.keys, home: `${bench.database.keys.home}/elsewhere` };
    const stranger = await openStore({ location: bench.database.location, ...keys });
    expect(await stranger.clients.find(ISSUER)).toEqual([]);
    await stranger.clients.put(registrationOf({ clientId: 'client-2' }));
    expect(await stranger.clients.find(ISSUER)).toMatchObject([{ clientId: 'client-2' }]);
    expect(await bench.store.clients.find(ISSUER)).toEqual([registrationOf()]);
    await stranger.close();
  });

  verifies('A2', 'opens a registration only under its own issuer', async () => {
    await bench.store.clients.put(registrationOf());
    await bench.database.run("UPDATE clients SET issuer = 'https://evil.example'");
    await expect(bench.store.clients.find('https://evil.example')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});
