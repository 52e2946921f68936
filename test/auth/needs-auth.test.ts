import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { SHARED_PRINCIPAL } from '../../src/store/token-vault.ts';
import { REFUSED_MS } from '../../src/upstream/auth/remembering-credential.ts';
import { verifies } from '../requirements.ts';
import { temporaryFolder, temporaryHeddle } from '../temporary-heddle.ts';
import { until } from '../until.ts';
import { open, owner, START, serve, signal, signIn } from './refusing-server.ts';

verifies('A1', 'remembers a 401 for 15 minutes in the store: no process sends a request meanwhile', async () => {
  const { url, seen } = await serve();
  const [folder, time] = [await temporaryFolder(), { now: START }];
  const needed = {
    state: 'needs-auth',
    code: 'AUTH_NEEDED',
    reason: expect.stringContaining('up'),
    fix: expect.stringContaining('`heddle auth login up`'),
  };
  const first = await open(folder, { url }, time);
  expect(await first.connect()).toMatchObject(needed);
  const requests = seen.length;
  expect(requests).toBeGreaterThan(0);
  const second = await open(folder, { url }, time);
  time.now += REFUSED_MS - 1;
  for (const { connect, call } of [first, second]) {
    expect(await connect()).toMatchObject(needed);
    await expect(call()).rejects.toMatchObject({ code: 'AUTH_NEEDED', fix: expect.stringContaining('login up') });
  }
  expect(seen).toHaveLength(requests);
  time.now += 1;
  expect(await second.connect()).toMatchObject(needed);
  expect(seen.length).toBeGreaterThan(requests);
});

verifies('A1', 'names the scopes and the metadata URL of the challenge, also from the store', async () => {
  const refused = 'Bearer error="insufficient_scope", scope="read write", resource_metadata="http://127.0.0.1:9/prm"';
  const { url } = await serve((_, response) => response.writeHead(403, { 'www-authenticate': refused }).end());
  const folder = await temporaryFolder();
  for (let processes = 0; processes < 2; processes++) {
    const { heddle } = await open(folder, { url });
    const failure = heddle.servers.connect(owner, 'up', signal);
    expect(await failure).toMatchObject({ state: 'needs-auth', reason: expect.stringContaining('read write') });
  }
  const home = join(folder, 'home');
  const store = await openStore({ location: join(home, 'heddle.sqlite'), home, env: {}, clock: () => START });
  onTestFinished(() => store.close());
  const details = { scopes: ['read', 'write'], metadataUrl: 'http://127.0.0.1:9/prm', until: START + REFUSED_MS };
  expect(await store.signIns.refusal(url, SHARED_PRINCIPAL)).toMatchObject(details);
});

verifies('A3', 'tells a call alone which scope it lacks: other calls go on, in every process', async () => {
  const { url, scoped } = await serve();
  const folder = await temporaryFolder();
  scoped.set('write', 'files:write').set('drop', 'files:drop');
  await signIn(folder, url, START);
  const [first, second] = [await open(folder, { url }), await open(folder, { url })];
  for (const { call, connect, heddle } of [first, second]) {
    await expect(call('write')).rejects.toMatchObject({
      code: 'AUTH_NEEDED',
      message: expect.stringContaining('files:write'),
      fix: 'Run `heddle auth login up --scope files:write`.',
    });
    await expect(call('drop')).rejects.toMatchObject({ message: expect.not.stringContaining('files:write') });
    await expect(call()).resolves.toMatchObject({ kind: 'complete' });
    expect(await connect()).toMatchObject({ state: 'connected' });
    expect(await heddle.signIns.list(owner)).toMatchObject([{ state: 'signed-in' }]);
  }
  const home = join(folder, 'home');
  const store = await openStore({ location: join(home, 'heddle.sqlite'), home, env: {}, clock: () => START });
  onTestFinished(() => store.close());
  // A sign-in requests the scopes of all refused calls.
  expect(await store.signIns.refusal(url, SHARED_PRINCIPAL)).toMatchObject({ scopes: ['files:write', 'files:drop'] });
});

verifies('A1', 'uses a newer credential of another process at once', async () => {
  const { url, seen } = await serve();
  const [folder, time] = [await temporaryFolder(), { now: START }];
  const { connect, call } = await open(folder, { url }, time);
  expect(await connect()).toMatchObject({ state: 'needs-auth' });
  const requests = seen.length;
  await signIn(folder, url, time.now);
  await expect(call()).resolves.toMatchObject({ kind: 'complete' });
  expect(seen.slice(requests).every((one) => one.endsWith('Bearer good'))).toBe(true);
});

verifies('A2', 'sends no token of an open connection after a logout in another process', async () => {
  const { url, seen } = await serve();
  const [folder, time] = [await temporaryFolder(), { now: START }];
  await signIn(folder, url, START);
  const { call } = await open(folder, { url }, time);
  await expect(call()).resolves.toMatchObject({ kind: 'complete' });
  const home = join(folder, 'home');
  const store = await openStore({ location: join(home, 'heddle.sqlite'), home, env: {}, clock: () => time.now });
  expect(await store.vault.remove(url, SHARED_PRINCIPAL)).toBe(true);
  await store.close();
  const requests = seen.length;
  time.now += 100;
  await expect(call()).rejects.toMatchObject({ code: 'AUTH_NEEDED' });
  expect(seen.slice(requests).filter((one) => one.includes('good'))).toEqual([]);
});

verifies('A1', 'tries a corrected header at once, without waiting for the end of a refusal', async () => {
  const { url, seen } = await serve();
  const folder = await temporaryFolder();
  const bad = await open(folder, { url, headers: { Authorization: 'Bearer bad' } });
  expect(await bad.connect()).toMatchObject({
    state: 'needs-auth',
    reason: expect.stringContaining('refused the credential'),
    fix: expect.stringContaining('`Authorization` header in `headers` of up'),
  });
  const requests = seen.length;
  expect(await bad.connect()).toMatchObject({ state: 'needs-auth' });
  expect(seen).toHaveLength(requests);
  const good = await open(folder, { url, headers: { Authorization: 'Bearer good' } });
  expect(await good.connect()).toMatchObject({ state: 'connected' });
});

verifies('A1', 'needs one sign-in after a 401 of a call and one of the GET stream', async () => {
  const refusals: { what: unknown; refuse: () => void }[] = [];
  const { url, accepted, streams } = await serve((id, response) => {
    refusals.push({ what: id === undefined ? 'stream' : 'call', refuse: () => response.writeHead(401).end() });
  });
  const folder = await temporaryFolder();
  await signIn(folder, url, START);
  const { heddle, connect, call } = await open(folder, { url });
  const states: unknown[] = [];
  const closing = new AbortController();
  const changes = heddle.changes(owner, closing.signal);
  const reading = (async () => {
    for await (const { kind, detail } of changes) if (kind === 'server') states.push(detail.event);
  })();
  expect(await connect()).toMatchObject({ state: 'connected' });
  await until('the GET stream is open', () => streams.length === 1);
  accepted.clear();
  streams[0]?.end();
  const calling = call();
  await until('both are refused', () => refusals.length === 2);
  expect(refusals.map(({ what }) => what).sort()).toEqual(['call', 'stream']);
  for (const { refuse } of refusals) refuse();
  await expect(calling).rejects.toMatchObject({ code: 'AUTH_NEEDED' });
  await until('it is known', () => states.includes('needs-auth'));
  closing.abort();
  await reading;
  expect(states.filter((state) => state === 'needs-auth')).toEqual(['needs-auth']);
  expect(refusals).toHaveLength(2);
});

verifies('A1', 'needs a sign-in after a 401 of the GET stream alone', async () => {
  const { url, accepted, streams } = await serve((_, response) => response.writeHead(401).end());
  const folder = await temporaryFolder();
  await signIn(folder, url, START);
  const { heddle, connect } = await open(folder, { url });
  expect(await connect()).toMatchObject({ state: 'connected' });
  await until('the GET stream is open', () => streams.length === 1);
  accepted.clear();
  streams[0]?.end();
  const stateOf = async () => (await heddle.servers.list(owner)).find(({ name }) => name === 'up')?.state;
  await until('the server needs a sign-in', async () => (await stateOf()) === 'needs-auth');
});

verifies('A4', 'runs the headers helper at connect and once after a 401, and its headers win', async () => {
  const { url, seen, accepted } = await serve();
  const folder = await temporaryFolder();
  accepted.clear();
  accepted.add('Bearer t2');
  const runs = join(folder, `runs-${randomUUID()}`);
  const headersHelper = `echo x >> ${runs}; printf '{"authorization": "Bearer t%s"}' $(grep -c x ${runs})`;
  const { connect, call } = await open(folder, { url, headersHelper, headers: { Authorization: 'Bearer old' } });
  expect(await connect()).toMatchObject({ state: 'connected' });
  await expect(call()).resolves.toMatchObject({ kind: 'complete' });
  expect(seen.filter((one) => !one.endsWith('Bearer t2'))).toEqual([expect.stringMatching(/Bearer t1$/)]);
  accepted.clear();
  accepted.add('Bearer t3'); // A token that expired while the server was connected (claude-code#82070).
  await expect(call()).resolves.toMatchObject({ kind: 'complete' });
});

verifies('C2', 'reaches a server of type proxy with the token of the connector at its origin', async () => {
  const { url, seen } = await serve();
  const folder = await temporaryFolder();
  const connectors = [{ name: 'hub', url: new URL('/servers', url).href, token: 'good' }];
  const config = { connectors, mcpServers: { up: { type: 'proxy', url } } };
  const heddle = await temporaryHeddle({ folder, config });
  expect(await heddle.servers.connect(owner, 'up', signal)).toMatchObject({ state: 'connected', transport: 'proxy' });
  expect(seen.some((one) => one === 'tools/list Bearer good')).toBe(true);
});
