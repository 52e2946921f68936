import { hash } from 'node:crypto';
import { describe, expect, onTestFinished } from 'vitest';
import type { Call, Caller, JsonObject } from '../../src/core/call.ts';
import { gatewayUnderTest, OWNER, TOKEN } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { type Behaviour, recordingServer, text } from '../servers/recording-server.ts';
import { SDK_CLIENTS } from '../servers/sdk-clients.ts';
import { temporaryFolder } from '../temporary-heddle.ts';
import { until } from '../until.ts';

const PAY: JsonObject = {
  heddle: 1,
  input: { type: 'object', properties: { to: { type: 'string' }, sum: { type: 'number' } } },
  steps: [
    { id: 'ok', approval: { title: 'Pay ${{ $input.to }}?' } },
    { id: 'pay', tool: 'bank.pay', input: { to: '$input.to' } },
  ],
  output: { paid: '$pay.result.paid' },
};
const KEYS = { ada: 'hk_ada', bo: 'hk_bo' } as const;
const pay: Behaviour = ({ to }) => text(JSON.stringify({ paid: to }));
const NAME = 'mcp__workflow__pay';

/** Returns the settings of a gateway whose calls wait for no person. Gateways of one setting share the store. */
async function settingOf(behaviour: Behaviour = pay, more: JsonObject = {}) {
  const bank = recordingServer({ pay: behaviour });
  const apiKeys = Object.entries(KEYS).map(([name, key]) => ({ name, roles: ['user'], sha256: hash('sha256', key) }));
  const config: JsonObject = {
    mode: 'open',
    workflows: { pay: PAY },
    builtins: { filesystem: { enabled: false } },
    approvals: { keepOpenMs: 0 },
    gateway: { apiKeys },
    ...more,
  };
  return { bank, setting: { folder: await temporaryFolder(), config, servers: { bank }, runs: true } };
}

type Gateway = Awaited<ReturnType<typeof gatewayUnderTest>>;

const runsOf = ({ heddle }: Gateway, by: Caller = OWNER) => heddle.runs.list(by, {});

async function approveAll({ heddle }: Gateway): Promise<void> {
  for (const { id } of await heddle.approvals.list(OWNER))
    await heddle.approvals.decide(OWNER, id, { verdict: 'approve' });
}

const ended = (gateway: Gateway) =>
  until('all runs end', async () => (await runsOf(gateway)).every(({ endedAt }) => endedAt !== undefined));

describe.each(SDK_CLIENTS)('%s', (_name, connect) => {
  async function clientOf({ url }: Gateway, token: string = TOKEN) {
    const client = await connect({ url, token });
    onTestFinished(() => client.close());
    return client;
  }

  verifies('W5', 'leaves a run that waits for a person, and gets its result once after a restart', async () => {
    const { bank, setting } = await settingOf();
    const first = await gatewayUnderTest(setting);
    const client = await clientOf(first);
    const pending = await client.call(NAME, { to: 'Cy', sum: 1 });
    const [run] = await runsOf(first);
    const [approval] = await first.heddle.approvals.list(OWNER);
    const message = JSON.stringify(pending);
    expect(pending.isError).toBe(true);
    for (const part of ['APPROVAL_PENDING', run?.id, approval?.id, 'repeat the same call'])
      expect(message).toContain(part);
    expect(await client.call(NAME, { sum: 1, to: 'Cy' })).toEqual(pending);
    expect([(await runsOf(first)).map(({ status }) => status), bank.calls]).toEqual([['waiting'], []]);
    await first.close();

    const second = await gatewayUnderTest(setting);
    const again = await clientOf(second);
    await approveAll(second);
    const paid = await again.call(NAME, { to: 'Cy', sum: 1 });
    expect(paid).toMatchObject({ structuredContent: { paid: 'Cy' }, _meta: { 'dev.heddle/run': run?.id } });
    expect(JSON.stringify(paid.content)).toContain('An earlier call with the same arguments began this run');
    expect(JSON.stringify(await again.call(NAME, { to: 'Cy', sum: 1 }))).toContain('APPROVAL_PENDING');
    expect((await runsOf(second)).length).toBe(2);
    expect(bank.calls.length).toBe(1);
  });
});

const [, connect] = SDK_CLIENTS[1] ?? expect.fail('no client');

async function clientOf({ url }: Gateway, token: string = TOKEN) {
  const client = await connect({ url, token });
  onTestFinished(() => client.close());
  return client;
}

verifies('W5', 'gives each caller a run of its own, and none that was not left', async () => {
  const { bank, setting } = await settingOf();
  const gateway = await gatewayUnderTest(setting);
  const [ada, bo] = [await clientOf(gateway, KEYS.ada), await clientOf(gateway, KEYS.bo)];
  await ada.call(NAME, { to: 'Cy' });
  await bo.call(NAME, { to: 'Cy' });
  await ada.call(NAME, { to: 'Di' });
  expect((await runsOf(gateway)).map(({ caller }) => caller.id).toSorted()).toEqual(['key:ada', 'key:ada', 'key:bo']);
  await approveAll(gateway);
  await ended(gateway);
  expect(bank.calls.length).toBe(3);
  expect(await bo.call(NAME, { to: 'Cy' })).toMatchObject({ structuredContent: { paid: 'Cy' } });
  expect(JSON.stringify(await bo.call(NAME, { to: 'Cy' }))).toContain('APPROVAL_PENDING');
  expect(await ada.call(NAME, { to: 'Di' })).toMatchObject({ structuredContent: { paid: 'Di' } });
  expect((await runsOf(gateway)).length).toBe(4);
});

verifies('W5', 'goes on with a run that was left, also if the client cancels the repeated call', async () => {
  const gate = Promise.withResolvers<void>();
  const { bank, setting } = await settingOf(async (input, context) => {
    await gate.promise;
    return pay(input, context);
  });
  let calls = 0;
  const onCall = ({ name }: Call) => {
    if (name === NAME) calls++;
  };
  const gateway = await gatewayUnderTest({ ...setting, onCall });
  const client = await clientOf(gateway);
  await client.call(NAME, { to: 'Cy' });
  await approveAll(gateway);
  await until('the step is called', () => bank.calls.length === 1);
  const abort = new AbortController();
  const waiting = client.call(NAME, { to: 'Cy' }, { signal: abort.signal }).catch(() => 'ended');
  await until('the repeated call has arrived', () => calls === 2);
  abort.abort();
  expect(await waiting).toBe('ended');
  const result = client.call(NAME, { to: 'Cy' });
  gate.resolve();
  expect(await result).toMatchObject({ structuredContent: { paid: 'Cy' } });
  expect((await runsOf(gateway)).map(({ status }) => status)).toEqual(['succeeded']);
  expect(bank.calls.length).toBe(1);
});

verifies(
  'W5',
  'leaves a run whose tool asks, in a workflow that it calls, and tells once that it was cancelled',
  async () => {
    const outer = { heddle: 1, steps: [{ id: 'below', workflow: 'pay', input: { to: 'Cy' } }] };
    const inner = { ...PAY, steps: (PAY.steps as JsonObject[]).slice(1) };
    const { bank, setting } = await settingOf(pay, {
      workflows: { pay: inner, outer },
      permissions: { ask: ['mcp__bank__pay'] },
    });
    const gateway = await gatewayUnderTest(setting);
    const client = await clientOf(gateway);
    const pending = JSON.stringify(await client.call('mcp__workflow__outer'));
    const [approval] = await gateway.heddle.approvals.list(OWNER);
    const run = (await runsOf(gateway)).find(({ workflow }) => workflow === 'outer');
    expect([pending.includes(approval?.id ?? '-'), pending.includes(run?.id ?? '-')]).toEqual([true, true]);
    await gateway.heddle.runs.cancel(OWNER, run?.id ?? '');
    await ended(gateway);
    const cancelled = await client.call('mcp__workflow__outer').then(JSON.stringify, String);
    expect(cancelled).toContain(`${run?.id} of outer was cancelled`);
    expect(JSON.stringify(await client.call('mcp__workflow__outer'))).toContain('APPROVAL_PENDING');
    expect(bank.calls).toEqual([]);
  },
);

verifies('G7', 'needs no second approval of a workflow to get the result of the run that it began', async () => {
  const { bank, setting } = await settingOf(pay, { permissions: { ask: [NAME] } });
  const gateway = await gatewayUnderTest(setting);
  const [client, other] = [await clientOf(gateway, KEYS.ada), await clientOf(gateway, KEYS.bo)];
  const call = async () => JSON.stringify(await client.call(NAME, { to: 'Cy' }));
  expect(await call()).toContain('APPROVAL_PENDING');
  expect(await runsOf(gateway)).toEqual([]);
  await approveAll(gateway);
  expect(await call()).toContain('began the run');
  expect(JSON.stringify(await other.call(NAME, { to: 'Cy' }))).not.toContain('began the run');
  await approveAll(gateway);
  expect(JSON.parse(await call())).toMatchObject({ structuredContent: { paid: 'Cy' } });
  expect(await call()).not.toContain('began the run');
  expect([(await runsOf(gateway)).length, bank.calls.length]).toEqual([1, 1]);
});
