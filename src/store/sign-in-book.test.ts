import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { onEveryDialect } from './fixtures.ts';
import { openStore } from './open-store.ts';
import type { PendingSignIn, RememberedRefusal } from './sign-in-book.ts';

const SERVER = 'https://mcp.example/mcp';

const signInOf = (change: Partial<PendingSignIn> = {}): PendingSignIn => ({
  state: 'state-marker',
  server: 'github',
  serverUrl: SERVER,
  principal: 'ada',
  issuer: 'https://as.example',
  resource: 'https://mcp.example',
  redirectUri: 'http://127.0.0.1:4711/callback',
  verifier: 'verifier-marker',
  clientId: 'client-1',
  scopes: ['read'],
  expiresAt: 9_001,
  extra: { cookie: 'hash' },
  ...change,
});

const refusalOf = (change: Partial<RememberedRefusal> = {}): RememberedRefusal => ({
  serverUrl: SERVER,
  principal: 'ada',
  at: 8_000,
  until: 9_001,
  scopes: ['write'],
  metadataUrl: 'https://mcp.example/.well-known/oauth-protected-resource',
  reason: 'The server refused the token.',
  ...change,
});

onEveryDialect((bench) => {
  verifies(
    'A2',
    'gives a sign-in to the first of many that take it, with neither state nor verifier readable',
    async () => {
      const { location, keys } = bench.database;
      await bench.store.signIns.begin(signInOf());
      expect(JSON.stringify(await bench.database.run('SELECT * FROM sign_ins'))).not.toContain('marker');
      const others = await Promise.all([1, 2, 3].map(() => openStore({ location, ...keys, clock: () => 9_000 })));
      const taken = await Promise.all(others.map(({ signIns }) => signIns.take('state-marker')));
      expect(taken.filter((one) => one !== undefined)).toEqual([signInOf()]);
      expect(await bench.store.signIns.take('state-marker')).toBeUndefined();
      await Promise.all(others.map((store) => store.close()));
    },
  );

  verifies('A2', 'knows no sign-in that has expired, was cancelled or has another state', async () => {
    const { signIns } = bench.store;
    await signIns.begin(signInOf({ expiresAt: 9_000 }));
    expect(await signIns.take('state-marker')).toBeUndefined();
    await signIns.begin(signInOf({ state: 'second' }));
    expect(await signIns.take('SECOND')).toBeUndefined();
    await signIns.cancel('second');
    expect(await signIns.take('second')).toBeUndefined();
    expect(await bench.database.run('SELECT * FROM sign_ins')).toEqual([]);
  });

  it('lists the sign-ins in progress of a principal without state and verifier', async () => {
    const { signIns } = bench.store;
    await signIns.begin(signInOf());
    await signIns.begin(signInOf({ state: 'other', principal: 'bob' }));
    await signIns.begin(signInOf({ state: 'elsewhere', serverUrl: 'https://two.example/' }));
    const { state: _, verifier: __, ...shown } = signInOf();
    expect(await signIns.pending(SERVER, 'ada')).toEqual([shown]);
    expect(await signIns.pending(SERVER, 'eve')).toEqual([]);
  });

  it('reports a sign-in of an unknown key and leaves it to the replica that began it', async () => {
    await bench.store.signIns.begin(signInOf());
    const keys = { ...bench.database.keys, home: `${bench.database.keys.home}/elsewhere` };
    const stranger = await openStore({ location: bench.database.location, ...keys, clock: () => 9_000 });
    await expect(stranger.signIns.take('state-marker')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(await stranger.signIns.pending(SERVER, 'ada')).toEqual([]);
    expect(await bench.store.signIns.take('state-marker')).toEqual(signInOf());
    await stranger.close();
  });

  verifies('A6', 'reads a ticket many times and gives it away once', async () => {
    const { signIns } = bench.store;
    const ticket = { ticket: 'ticket-marker', server: 'github', principal: 'ada', expiresAt: 9_001, extra: { a: 1 } };
    await signIns.issueTicket(ticket);
    await signIns.issueTicket({ ...ticket, ticket: 'late', expiresAt: 9_000 });
    expect(JSON.stringify(await bench.database.run('SELECT * FROM sign_ins'))).not.toContain('marker');
    expect([await signIns.readTicket(ticket.ticket), await signIns.readTicket(ticket.ticket)]).toEqual([
      ticket,
      ticket,
    ]);
    expect(await signIns.take(ticket.ticket)).toBeUndefined();
    expect(await signIns.takeTicket(ticket.ticket)).toEqual(ticket);
    expect(await signIns.takeTicket(ticket.ticket)).toBeUndefined();
    expect(await signIns.readTicket('late')).toBeUndefined();
  });

  verifies(
    'A1',
    'remembers a refusal for all processes until it ends, is forgiven or a newer grant arrives',
    async () => {
      const { signIns, vault } = bench.store;
      const { location, keys } = bench.database;
      await signIns.refuse(refusalOf({ reason: 'first' }));
      await signIns.refuse(refusalOf());
      const other = await openStore({ location, ...keys, clock: () => 9_000 });
      expect(await other.signIns.refusal(SERVER, 'ada')).toEqual(refusalOf());
      expect(await other.signIns.refusal(SERVER, 'bob')).toBeUndefined();
      await other.signIns.forgive(SERVER, 'ada');
      expect(await signIns.refusal(SERVER, 'ada')).toBeUndefined();
      await signIns.refuse(refusalOf({ until: 9_000 }));
      expect(await signIns.refusal(SERVER, 'ada')).toBeUndefined();

      await signIns.refuse(refusalOf());
      const key = { serverUrl: SERVER, principal: 'ada', issuer: 'https://as.example', resource: SERVER };
      const grant = {
        ...key,
        accessToken: 'a',
        tokenType: 'Bearer',
        scopes: [],
        clientId: 'c',
        receivedAt: 8_000,
      } as const;
      await vault.put(grant, 1);
      expect(await signIns.refusal(SERVER, 'ada')).toEqual(refusalOf());
      await other.vault.put({ ...grant, receivedAt: 8_001 }, 1);
      expect(await signIns.refusal(SERVER, 'ada')).toBeUndefined();
      await other.close();
    },
  );
});
