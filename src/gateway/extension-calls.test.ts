import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SERVER_PATHS } from '../../test/paths.ts';
import { verifies } from '../../test/requirements.ts';
import type { CountingPlace } from '../../test/servers/counting-servers.ts';
import { temporaryFolder } from '../../test/temporary-heddle.ts';
import type { JsonObject } from '../core/call.ts';
import type { Era } from '../wire/mcp.ts';
import { type GatewayUnderTest, gatewayUnderTest, modern, openSession, type TestResponse } from './fixtures.ts';

const ERAS: readonly Era[] = ['legacy', 'modern'];
const EXTENSIONS = { 'com.example/count': { methods: ['count/up', 'count/failing'] } };
const OPEN = { mode: 'open' };

type Send = (method: string, params?: JsonObject) => Promise<TestResponse>;

/** Returns a function that sends requests of a client of one era. */
async function clientOf(era: Era, gateway: GatewayUnderTest): Promise<Send> {
  if (era === 'modern') return (method, params) => gateway.post(...modern(method, params));
  const session = await openSession(gateway);
  return (method, params = {}) => gateway.post({ id: 1, method, params }, session);
}

/** Opens a gateway with servers whose entries list `count/up`. */
async function gatewayWith({
  era = 'legacy' as Era,
  names = ['counter'],
  settings = OPEN as JsonObject,
  entry = {} as JsonObject,
} = {}) {
  const folder = await temporaryFolder();
  const counts = join(folder, 'counts');
  const opened = await Promise.all(names.map(() => SERVER_PATHS.stdio[era as 'legacy']));
  const place: CountingPlace = { era, folder, counts };
  const mcpServers: Record<string, JsonObject> = {};
  for (const [at, open] of opened.entries()) {
    if (typeof open === 'string') throw new Error(open);
    mcpServers[String(names[at])] = { ...(await open(place)).entry, extensions: EXTENSIONS, ...entry };
  }
  const gateway = await gatewayUnderTest({
    folder,
    config: { ...settings, mcpServers },
    env: { PATH: process.env.PATH ?? '' },
  });
  return gateway;
}

const errorOf = ({ json }: TestResponse) => json.error as JsonObject | undefined;
const echoOf = ({ json }: TestResponse) => (json.result as { echo: JsonObject } | undefined)?.echo;

const pairs = ERAS.flatMap((client) => ERAS.map((server) => [client, server] as const));

describe.each(pairs)('an extension method of a %s client at a %s server', (client, server) => {
  verifies('T13', 'passes params and result verbatim, without reserved `_meta`', async () => {
    const gateway = await gatewayWith({ era: server });
    const send = await clientOf(client, gateway);
    const params = { name: 'x', uri: 'u:1', arguments: { a: [1, null] }, cursor: 'c', deep: { _meta: { kept: 1 } } };
    const _meta = {
      'com.example/trace': 'kept',
      'io.modelcontextprotocol/related-task': { taskId: 't' },
      progressToken: 7,
    };
    const response = await send('count/up', { ...params, _meta });
    const { _meta: sent, ...rest } = echoOf(response) ?? {};
    expect(rest).toEqual(params);
    expect(sent).toMatchObject({ 'com.example/trace': 'kept' });
    expect(JSON.stringify(sent)).not.toContain('related-task');
    expect((response.json.result as JsonObject).resultType).toBe(client === 'modern' ? 'complete' : undefined);
  });

  verifies('T13', 'passes the error of the server verbatim', async () => {
    const send = await clientOf(client, await gatewayWith({ era: server }));
    const response = await send('count/failing');
    expect(errorOf(response)).toEqual({ code: -32000, message: 'It fails.', data: { of: 'count/failing' } });
    expect(response.status).toBe(200);
  });

  verifies('T13', 'is -32601 unless an entry lists it', async () => {
    const gateway = await gatewayWith({ era: server });
    const send = await clientOf(client, gateway);
    for (const method of ['count/down', 'mcp__counter__count/down', 'toString', '__proto__']) {
      expect(errorOf(await send(method))).toMatchObject({ code: -32601, message: `${method} is not supported.` });
    }
    expect((await gateway.audit()).filter(({ name }) => name.includes('down'))).toEqual([]);
  });
});

describe.each(ERAS)('an extension method of a %s client', (era) => {
  verifies('T13', 'needs an approval in mode guarded, and each one for its own params', async () => {
    const gateway = await gatewayWith({ settings: { approvals: { keepOpenMs: 0 } } });
    const send = await clientOf(era, gateway);
    const approvals = () => gateway.heddle.approvals.list({ id: 'owner', roles: ['owner'], via: 'gateway' });
    expect(errorOf(await send('count/up', { to: 1 }))?.data).toMatchObject({ code: 'APPROVAL_PENDING' });
    const [pending] = await approvals();
    expect(pending?.subject).toMatchObject({ kind: 'extension', name: 'mcp__counter__count/up', arguments: { to: 1 } });
    await gateway.heddle.approvals.decide({ id: 'owner', roles: ['owner'], via: 'gateway' }, pending?.id ?? '', {
      verdict: 'approve',
    });
    expect(errorOf(await send('count/up', { to: 2 }))?.data).toMatchObject({ code: 'APPROVAL_PENDING' });
    expect(echoOf(await send('count/up', { to: 1 }))).toMatchObject({ to: 1 });
  });

  verifies('T13', 'of several servers goes to the one that has the tool, the prompt or the resource', async () => {
    const gateway = await gatewayWith({ names: ['a', 'b'] });
    const send = await clientOf(era, gateway);
    const both = await send('count/up', { name: 'allowed' });
    expect(errorOf(both)).toMatchObject({
      code: -32602,
      data: { code: 'NAME_AMBIGUOUS', candidates: ['mcp__a__count/up', 'mcp__b__count/up'] },
    });
    expect(errorOf(await send('count/up'))?.data).toMatchObject({ code: 'NAME_AMBIGUOUS' });
    expect(echoOf(await send('count/up', { name: 'mcp__b__allowed' }))).toMatchObject({ name: 'mcp__b__allowed' });
    expect(echoOf(await send('count/up', { uri: 'heddle://a/count://allowed/x' }))).toBeDefined();
    expect(echoOf(await send('mcp__b__count/up', { x: 1 }))).toMatchObject({ x: 1 });
    const outcomes = (await gateway.audit()).filter(
      ({ phase, detail }) => phase === 'outcome' && detail.outcome === 'ok',
    );
    expect(outcomes.map(({ detail }) => detail.server).sort()).toEqual(['a', 'b', 'b']);
  });
});

const HIDING: readonly (readonly [string, JsonObject, JsonObject])[] = [
  ['a denied tool of its server', { permissions: { deny: ['mcp__counter__denied'] } }, {}],
  ['a denied tool that its server does not list', { permissions: { deny: ['mcp__counter__other'] } }, {}],
  ['its denied server', { permissions: { deny: ['mcp__counter'] } }, {}],
  ['`deniedTools` of its server', {}, { permissions: { deniedTools: ['dele*'] } }],
  ['`writePermission` of its server', {}, { permissions: { writePermission: 'deny' } }],
  ['`readPermission` of its server', {}, { permissions: { readPermission: 'deny' } }],
  [
    'a policy that names a tool',
    { policies: [{ name: 'p', effect: 'deny', tools: ['mcp__counter__denied'], reason: 'no' }] },
    {},
  ],
  [
    'a policy on the facts of a tool',
    { policies: [{ name: 'p', effect: 'deny', when: 'tool.ownName == "denied"', reason: 'no' }] },
    {},
  ],
];

it.each(HIDING)('T13: a rule hides an extension method by %s', async (_what, settings, entry) => {
  const gateway = await gatewayWith({ settings: { ...OPEN, ...settings }, entry });
  const send = await clientOf('modern', gateway);
  const response = await send('count/up');
  expect(errorOf(response)).toMatchObject({ code: -32601 });
  expect(response.status).toBe(404);
});

it('T13: a rule about another server leaves an extension method alone', async () => {
  const gateway = await gatewayWith({
    settings: { ...OPEN, permissions: { deny: ['mcp__counter2__x', 'mcp__count', 'u:*'] } },
  });
  expect(echoOf(await (await clientOf('modern', gateway))('count/up'))).toBeDefined();
});

const ASKING: readonly (readonly [string, JsonObject, JsonObject])[] = [
  ['a tool that asks', { permissions: { ask: ['mcp__counter__asked'] } }, {}],
  ['`allowedTools` of its server', {}, { permissions: { allowedTools: ['allowed'] } }],
  [
    'a policy on the facts of a tool',
    { policies: [{ name: 'p', effect: 'ask', when: 'tool.ownName == "asked"', reason: 'ask' }] },
    {},
  ],
  ['mode strict', { mode: 'strict' }, {}],
];

it.each(ASKING)('T13: an extension method asks by %s', async (_what, settings, entry) => {
  const gateway = await gatewayWith({ settings: { ...OPEN, approvals: { keepOpenMs: 0 }, ...settings }, entry });
  const response = await (await clientOf('modern', gateway))('count/up');
  expect(errorOf(response)?.data).toMatchObject({ code: 'APPROVAL_PENDING' });
});

it('T13: a rule that allows the method or its server lets it run in mode guarded', async () => {
  for (const allow of ['mcp__counter', 'mcp__counter__count/up']) {
    const gateway = await gatewayWith({ settings: { permissions: { allow: [allow] } } });
    expect(echoOf(await (await clientOf('modern', gateway))('count/up')), allow).toBeDefined();
  }
});

it('T13: a profile without the server, or that excludes one of its tools, has none of its extension methods', async () => {
  const profiles = {
    all: { servers: ['counter'] },
    without: { servers: ['other'] },
    excluding: { exclude: ['counter.denied'] },
    bare: { exclude: ['deni*'] },
    narrow: { tools: ['counter.allowed'] },
  };
  const gateway = await gatewayWith({ settings: { ...OPEN, profiles } });
  const [message, headers] = modern('count/up');
  for (const profile of Object.keys(profiles)) {
    const { json } = await gateway.send({
      path: `/mcp/${profile}`,
      headers: { ...headers, 'content-type': 'application/json', authorization: 'Bearer open-sesame' },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
    const { code } = (json.error ?? {}) as JsonObject;
    expect(code, profile).toBe(profile === 'all' ? undefined : -32601);
  }
});

it('T13: params of 5 MB are refused with 413', async () => {
  const gateway = await gatewayWith();
  const [message, headers] = modern('count/up', { x: 'x'.repeat(5_000_000) });
  expect((await gateway.post(message, headers)).status).toBe(413);
});

it('T13: a method of an extension cannot be sent as a notification', async () => {
  const { heddle } = await gatewayWith();
  const owner = { id: 'owner', roles: ['owner'], via: 'library' } as const;
  const sent = heddle.servers.notify(owner, 'counter', { method: 'count/up', params: {} });
  await expect(sent).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});
