import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { onEveryDialect } from './fixtures.ts';
import { openStore } from './open-store.ts';
import type { PendingSignIn, RememberedRefusal } from './sign-in-book.ts';

const SERVER = 'https://mcp.example/mcp';
const ADA = { serverUrl: SERVER, principal: 'ada' };

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
      const taken = await Promise.all(others.map(({ signIns }) => signIns.take('state-marker', ADA)));
      expect(taken.filter((one) => one !== undefined)).toEqual([signInOf()]);
      expect(await bench.store.signIns.take('state-marker', ADA)).toBeUndefined();
      await Promise.all(others.map((store) => store.close()));
    },
  );

  verifies('A2', 'knows no sign-in that has expired or has another state', async () => {
    const { signIns } = bench.store;
    await signIns.begin(signInOf({ expiresAt: 9_000 }));
    expect(await signIns.take('state-marker', ADA)).toBeUndefined();
    await signIns.begin(signInOf({ state: 'second' }));
    expect(await signIns.take('SECOND', ADA)).toBeUndefined();
    expect(await signIns.take('second', ADA)).toBeDefined();
    expect(await bench.database.run('SELECT * FROM sign_ins')).toEqual([]);
  });

  verifies('A6', 'neither returns nor removes a sign-in that another server or principal takes', async () => {
    const { signIns } = bench.store;
    await signIns.begin(signInOf());
    for (const other of [
      { ...ADA, principal: 'bob' },
      { ...ADA, serverUrl: 'https://two.example/' },
    ]) {
      expect(await signIns.take('state-marker', other)).toBeUndefined();
    }
    expect(await signIns.take('state-marker', ADA)).toEqual(signInOf());
  });

  verifies('A6', 'knows neither a sign-in nor a ticket whose end was changed in the database', async () => {
    const { signIns } = bench.store;
    await signIns.begin(signInOf());
    await signIns.issueTicket({ ticket: 'ticket-marker', server: 'github', principal: 'ada', expiresAt: 9_001 });
    await bench.database.run('UPDATE sign_ins SET expires_at = 99000');
    expect(await signIns.take('state-marker', ADA)).toBeUndefined();
    expect(await signIns.pending(SERVER, 'ada')).toEqual([]);
    expect(await signIns.readTicket('ticket-marker')).toBeUndefined();
    expect(await signIns.takeTicket('ticket-marker')).toBeUndefined();
  });

  verifies('A6', 'abandons the sign-ins and tickets of one principal alone', async () => {
    const { signIns } = bench.store;
    const bob = { ...ADA, principal: 'bob' };
    await signIns.begin(signInOf());
    await signIns.begin(signInOf({ state: 'other', principal: 'bob' }));
    await signIns.issueTicket({ ticket: 'ticket-marker', server: 'github', principal: 'ada', expiresAt: 9_001 });
    await signIns.abandon('ada');
    expect(await signIns.take('state-marker', ADA)).toBeUndefined();
    expect(await signIns.readTicket('ticket-marker')).toBeUndefined();
    expect(await signIns.take('other', bob)).toMatchObject(bob);
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
    await expect(stranger.signIns.take('state-marker', ADA)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(await stranger.signIns.pending(SERVER, 'ada')).toEqual([]);
    expect(await bench.store.signIns.take('state-marker', ADA)).toEqual(signInOf());
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
    expect(await signIns.take(ticket.ticket, ADA)).toBeUndefined();
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
