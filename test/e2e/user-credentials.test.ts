import { expect, onTestFinished } from 'vitest';
import { newCallId } from '../../src/core/call/call-id.ts';
import type { Call, Caller } from '../../src/core/call.ts';
import type { Heddle } from '../../src/heddle.ts';
import { verifies } from '../requirements.ts';
import { PROFILE_URI } from '../servers/protected-server.ts';
import { callerNamed, openUserServer } from '../servers/user-servers.ts';
import { until } from '../until.ts';

const ada = callerNamed('key:ada');
const bob = callerNamed('key:bob');
const { signal } = new AbortController();

const callOf = (caller: Caller, name: string, more: Partial<Call> = {}): Call => ({
  ...{ id: newCallId(), kind: 'tool', name, input: {}, meta: {}, caller, options: {}, signal },
  ...more,
});

async function textOf(heddle: Heddle, caller: Caller, name: string, more: Partial<Call> = {}): Promise<unknown> {
  const result = await heddle.dispatch(callOf(caller, name, more));
  const value = result.kind === 'complete' ? result.value : {};
  return JSON.parse(JSON.stringify([value.content ?? value.contents]))[0][0].text;
}

const toolsOf = async (heddle: Heddle, caller: Caller) =>
  (await heddle.catalog.list(caller, { server: 'box', waitMs: Number.POSITIVE_INFINITY })).items.map(
    ({ publicName }) => publicName,
  );

const SIGN_IN = ['mcp__box__sign_in'];
const toolsFor = (account: string) => ['mcp__box__echo', `mcp__box__only_${account}`, 'mcp__box__whoami'];
const stateFor = async (heddle: Heddle, caller: Caller) =>
  (await heddle.servers.list({ ...caller, roles: ['owner'] })).find(({ name }) => name === 'box')?.state;

/** Records the changes of tools that a caller reads. */
function changesOf(heddle: Heddle, caller: Caller): string[] {
  const ended = new AbortController();
  onTestFinished(() => ended.abort());
  const seen: string[] = [];
  (async () => {
    for await (const change of heddle.changes(caller, ended.signal)) {
      if (change.kind === 'catalog' && change.detail.user !== undefined) seen.push(change.subject);
    }
  })();
  return seen;
}

const ERAS = ['legacy', 'modern'] as const;

const ACCOUNTS = [
  [ada, 'ada'],
  [bob, 'bob'],
] as const;

for (const era of ERAS) {
  verifies('A6', `sends each caller's own token, in its lists, calls and reads (${era})`, async () => {
    const { heddle, server, signIn } = await openUserServer(era);
    const tokens = new Map<string, string>();
    for (const [{ id }, account] of ACCOUNTS) tokens.set(account, await signIn(id, account));
    for (const [caller, account] of ACCOUNTS) expect(await toolsOf(heddle, caller)).toEqual(toolsFor(account));
    const calls = Array.from({ length: 100 }, async (_, at) => {
      const [caller, account] = ACCOUNTS[at % 2] as (typeof ACCOUNTS)[number];
      const who = await textOf(heddle, caller, 'mcp__box__whoami');
      const profile = await textOf(heddle, caller, PROFILE_URI, { kind: 'resource' });
      return [account, who, profile];
    });
    for (const [account, who, profile] of await Promise.all(calls)) expect([who, profile]).toEqual([account, account]);
    const used = server.requests.filter(({ subject }) => subject !== undefined);
    expect(used.every(({ subject, token }) => tokens.get(String(subject)) === token)).toBe(true);
    await expect(heddle.dispatch(callOf(ada, 'mcp__box__only_bob'))).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
  });

  verifies('A6', `lists the tool sign_in alone until the caller has signed in (${era})`, async () => {
    const { heddle, signIn } = await openUserServer(era, { mode: 'strict' });
    await signIn(bob.id, 'bob');
    expect(await toolsOf(heddle, bob)).toEqual(toolsFor('bob'));
    expect(await toolsOf(heddle, ada)).toEqual(SIGN_IN);
    expect([await stateFor(heddle, ada), await stateFor(heddle, bob)]).toEqual(['needs-auth', 'connected']);
    const seen = { ada: changesOf(heddle, ada), bob: changesOf(heddle, bob) };
    await expect(heddle.dispatch(callOf(ada, 'mcp__box__whoami'))).rejects.toMatchObject({
      code: 'AUTH_NEEDED',
      details: { server: 'box', credentials: 'user' },
    });
    expect(await textOf(heddle, ada, SIGN_IN[0] as string)).toContain('https://sign.in/box/key:ada');
    await signIn(ada.id, 'ada');
    await until('the tools of ada are announced', () => seen.ada.includes('tools'));
    expect(await toolsOf(heddle, ada)).toEqual(toolsFor('ada'));
    expect(seen.bob).toEqual([]);
  });

  verifies('A6', `ends the sign-in of one caller and spares the other (${era})`, async () => {
    const { heddle, signIn, revoke } = await openUserServer(era);
    const token = await signIn(ada.id, 'ada');
    await signIn(bob.id, 'bob');
    for (const [caller, account] of ACCOUNTS) expect(await toolsOf(heddle, caller)).toEqual(toolsFor(account));
    const seen = { ada: changesOf(heddle, ada), bob: changesOf(heddle, bob) };
    revoke(token);
    for (let at = 0; at < 6; at++) {
      await expect(heddle.dispatch(callOf(ada, 'mcp__box__whoami'))).rejects.toMatchObject({ code: 'AUTH_NEEDED' });
      expect(await textOf(heddle, bob, 'mcp__box__whoami')).toBe('bob');
    }
    await until('the sign-in of ada is announced', () => seen.ada.includes('tools'));
    expect(await toolsOf(heddle, ada)).toEqual(SIGN_IN);
    expect(await toolsOf(heddle, bob)).toEqual(toolsFor('bob'));
    expect(seen.bob).toEqual([]);
    await heddle.signIns.forget({ ...bob, roles: ['user'] }, 'box', signal);
    expect(await toolsOf(heddle, bob)).toEqual(SIGN_IN);
    await until('the logout of bob is announced', () => seen.bob.includes('tools'));
  });

  verifies('A6', `passes changes and updates to the caller whose token they are for (${era})`, async () => {
    const { heddle, server, signIn } = await openUserServer(era);
    for (const [{ id }, account] of ACCOUNTS) await signIn(id, account);
    for (const [caller, account] of ACCOUNTS) expect(await toolsOf(heddle, caller)).toEqual(toolsFor(account));
    const updates: string[] = [];
    for (const [caller, account] of ACCOUNTS) {
      const onProgress = () => void updates.push(account);
      await heddle.dispatch(callOf(caller, PROFILE_URI, { kind: 'subscription', onProgress }));
    }
    await until('bob gets an update', () => {
      server.notifyUpdated('bob');
      return updates.length > 0;
    });
    const seen = { ada: changesOf(heddle, ada), bob: changesOf(heddle, bob) };
    server.addTool('ada', 'extra');
    await until('the change reaches ada', () => seen.ada.includes('tools'));
    expect(await toolsOf(heddle, ada)).toContain('mcp__box__extra');
    expect(await toolsOf(heddle, bob)).toEqual(toolsFor('bob'));
    expect(seen.bob).toEqual([]);
    expect(new Set(updates)).toEqual(new Set(['bob']));
  });
}

verifies('A6', 'uses the credential of the owner for the user at the terminal', async () => {
  const { heddle, signIn } = await openUserServer('modern');
  await signIn('owner', 'ada');
  const local: Caller = { id: 'local:ada', roles: ['owner'], via: 'cli' };
  const owner: Caller = { id: 'owner', roles: ['owner'], via: 'gateway' };
  for (const caller of [local, owner]) expect(await toolsOf(heddle, caller)).toEqual(toolsFor('ada'));
  expect(await toolsOf(heddle, bob)).toEqual(SIGN_IN);
});

verifies('A6', 'shows no list of an earlier process to another caller', async () => {
  const { heddle, open, signIn } = await openUserServer('modern');
  await signIn(ada.id, 'ada');
  expect(await toolsOf(heddle, ada)).toEqual(toolsFor('ada'));
  await heddle.close();
  const next = await open();
  const list = await next.catalog.list(bob, { waitMs: 0 });
  expect(list.items.filter(({ servers }) => servers.includes('box'))).toEqual([]);
  expect([await stateFor(next, ada), await stateFor(next, bob)]).toEqual(['pending', 'needs-auth']);
  expect(await toolsOf(next, bob)).toEqual(SIGN_IN);
  expect(await toolsOf(next, ada)).toEqual(toolsFor('ada'));
});
