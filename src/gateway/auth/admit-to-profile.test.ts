import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { builtins, call, callsOf, postTo, servers, toolNamesOf } from '../../../test/servers/profile-servers.ts';
import { text } from '../../../test/servers/recording-server.ts';
import { resourceServer, textAt } from '../../../test/servers/resource-server.ts';
import type { JsonObject } from '../../core/call.ts';
import { gatewayUnderTest, JSON_HEADERS, modern, OWNER, openSession } from '../fixtures.ts';
import { profileAdmitter } from './admit-to-profile.ts';

verifies('P2', 'does not start a server that is not in the profile', async () => {
  let started = 0;
  const hidden = { connect: async () => void started++ };
  const config = { builtins, profiles: { p: { servers: ['git'] }, q: { tools: ['git.log'] } } };
  const gateway = await gatewayUnderTest({ servers: { git: servers().git as never, hidden: hidden as never }, config });
  for (const profile of ['p', 'q']) {
    const post = postTo(gateway, profile);
    await toolNamesOf(post);
    for (const name of ['mcp__hidden__x', 'hidden.x', 'nothing']) {
      expect((await call(post, name)).json.error).toMatchObject({ code: -32602, data: { code: 'NAME_UNKNOWN' } });
    }
  }
  expect(started).toBe(0);
});

describe('tool names in a profile', () => {
  const config = {
    builtins,
    mode: 'open',
    profiles: { bare: { naming: 'bare' }, full: {}, git: { naming: 'bare', servers: ['git'] } },
  };

  verifies('P2', 'are bare with `naming: bare`, except for names of two servers', async () => {
    const gateway = await gatewayUnderTest({ servers: servers(), config });
    expect(await toolNamesOf(postTo(gateway, 'git'))).toEqual(['log', 'push', 'read']);
    const bare = await toolNamesOf(postTo(gateway, 'bare'));
    expect(bare).toContain('push');
    expect(bare).toContain('mcp__git__log');
    expect(bare).toContain('mcp__git__x__log');
    expect(bare).not.toContain('log');
    expect(await toolNamesOf(postTo(gateway, 'full'))).toContain('mcp__git__push');
    expect(await toolNamesOf(postTo(gateway, undefined))).toContain('mcp__git__push');
    expect(await toolNamesOf(postTo(gateway, 'git'))).toEqual(['log', 'push', 'read']);
  });

  verifies('P2', 'can be called before the first list', async () => {
    const world = servers();
    const gateway = await gatewayUnderTest({ servers: world, config });
    expect((await call(postTo(gateway, 'git'), 'log')).json).toMatchObject({ result: text('log') });
    expect((await call(postTo(gateway, 'bare'), 'show')).json).toMatchObject({ result: text('show') });
    expect((await call(postTo(gateway, 'bare'), 'log')).json.error).toMatchObject({ data: { code: 'NAME_AMBIGUOUS' } });
    expect(callsOf(world)).toEqual(['git log', 'git__x show']);
  });

  verifies('P2', 'that collide are reported by the doctor', async () => {
    const { heddle } = await gatewayUnderTest({ servers: servers(), config });
    await heddle.catalog.list(OWNER, {});
    const findings = await heddle.doctor(OWNER, undefined, new AbortController().signal);
    expect(findings.filter(({ subject }) => subject.startsWith('profile '))).toMatchObject([
      { level: 'warn', subject: 'profile bare', message: expect.stringContaining('mcp__files__mcp__git__log keeps') },
      {
        level: 'warn',
        subject: 'profile bare',
        message: expect.stringContaining('mcp__files__read, mcp__git__read keep'),
      },
      {
        level: 'warn',
        subject: 'profile bare',
        message: expect.stringContaining('mcp__git__log, mcp__git__x__log keep'),
      },
    ]);
  });
});

describe('resources, templates and prompts', () => {
  const serverWith = (scheme: string) =>
    resourceServer({
      resources: [{ uri: `${scheme}://one`, name: 'one' }],
      templates: [{ uriTemplate: `${scheme}://by/{day}`, name: 'by day' }],
      prompts: [{ name: `greet_${scheme}` }],
      read: (uri) => textAt(uri, 'read'),
      get: () => ({ messages: [] }),
      complete: () => ({ completion: { values: ['x'] } }),
    });
  const profiles = {
    p: { servers: ['note'], naming: 'bare' },
    q: { tools: ['note://one', 'greet_*'], exclude: ['greet_mail'] },
  };

  verifies('P2', 'follow the same profile rules for lists, reads, gets and completions', async () => {
    const world = { note: serverWith('note'), mail: serverWith('mail') };
    const gateway = await gatewayUnderTest({ servers: world, config: { builtins, profiles } });
    const request = async (profile: string, method: string, params: JsonObject = {}) => {
      const name = params.uri ?? params.name;
      const [message, headers] = modern(method, params);
      const more = { ...headers, ...(typeof name === 'string' && { 'mcp-name': name }) };
      return (await postTo(gateway, profile)(message, more)).json as { result?: JsonObject; error?: JsonObject };
    };
    const listed = async (profile: string) => {
      const lists = ['resources/list', 'resources/templates/list', 'prompts/list'].map((method) =>
        request(profile, method),
      );
      return (await Promise.all(lists)).map(({ result = {} }) => Object.values(result).find(Array.isArray));
    };
    expect(await listed('p')).toMatchObject([
      [{ uri: 'note://one' }],
      [{ uriTemplate: 'note://by/{day}' }],
      [{ name: 'greet_note' }],
    ]);
    expect(await listed('q')).toMatchObject([[{ uri: 'note://one' }], [], [{ name: 'mcp__note__greet_note' }]]);

    const isAllowed = async (profile: string, method: string, params: JsonObject) =>
      (await request(profile, method, params)).error === undefined;
    const argument = { name: 'x', value: '' };
    const complete = (ref: JsonObject) => ['completion/complete', { ref, argument }] as const;
    const requests: readonly (readonly [string, JsonObject, boolean, boolean])[] = [
      ['resources/read', { uri: 'note://one' }, true, true],
      ['resources/read', { uri: 'note://by/1' }, true, false],
      ['resources/read', { uri: 'heddle://note/note://one' }, true, true],
      ['resources/read', { uri: 'heddle://note/note://two' }, true, false],
      ['resources/read', { uri: 'mail://one' }, false, false],
      ['resources/read', { uri: 'heddle://mail/mail://one' }, false, false],
      ['resources/read', { uri: 'mail://by/1' }, false, false],
      ['prompts/get', { name: 'greet_note' }, true, true],
      ['prompts/get', { name: 'mcp__mail__greet_mail' }, false, false],
      ['prompts/get', { name: 'greet_mail' }, false, false],
      [...complete({ type: 'ref/prompt', name: 'greet_note' }), true, true],
      [...complete({ type: 'ref/prompt', name: 'greet_mail' }), false, false],
      [...complete({ type: 'ref/resource', uri: 'note://by/{day}' }), true, false],
      [...complete({ type: 'ref/resource', uri: 'mail://by/{day}' }), false, false],
    ];
    for (const [method, params, inP, inQ] of requests) {
      expect([method, params, await isAllowed('p', method, params), await isAllowed('q', method, params)]).toEqual([
        method,
        params,
        inP,
        inQ,
      ]);
    }
    expect(world.mail.requests.filter(([method]) => /read|get|complete/.test(method))).toEqual([]);
  });
});

describe('the endpoint of a profile', () => {
  const config = {
    builtins,
    mode: 'open',
    profiles: {
      git: { servers: ['git'] },
      files: { servers: ['files'] },
      careful: { permissions: { deny: ['mcp__git__push'], ask: ['mcp__git__log'] } },
      open: { auth: 'none', servers: ['git'] },
    },
  };

  verifies('P2', 'responds with 404 for an unknown profile, after authentication', async () => {
    const gateway = await gatewayUnderTest({ servers: servers(), config });
    const ping = { id: 1, method: 'ping' };
    for (const name of ['none', 'toString', '__proto__', 'Git', 'git/', 'git/x', '%67it', '']) {
      expect([name, (await postTo(gateway, name)(ping)).status]).toEqual([name, 404]);
      expect((await postTo(gateway, name, { authorization: 'Bearer wrong' })(ping)).status).toBe(401);
    }
  });

  verifies('P2', 'has its own sessions', async () => {
    const gateway = await gatewayUnderTest({ servers: servers(), config });
    const session = await openSession({ post: postTo(gateway, 'git') });
    const statuses = await Promise.all(
      ['git', 'files', undefined].map(async (profile) => {
        const { status } = await postTo(gateway, profile)({ id: 1, method: 'tools/list' }, session);
        const path = profile === undefined ? '/mcp' : `/mcp/${profile}`;
        const headers = { ...JSON_HEADERS, ...session };
        const ended = profile === 'git' ? 0 : (await gateway.send({ method: 'DELETE', path, headers })).status;
        return [status, ended];
      }),
    );
    expect(statuses).toEqual([
      [200, 0],
      [404, 404],
      [404, 404],
    ]);
    expect((await postTo(gateway, 'git')({ id: 2, method: 'ping' }, session)).status).toBe(200);
  });

  verifies('P2', 'can be the default at /mcp', async () => {
    const gateway = await gatewayUnderTest({ servers: servers(), config, gateway: { profile: 'git' } });
    const names = await toolNamesOf(postTo(gateway, undefined));
    expect(names).toEqual(['mcp__git__log', 'mcp__git__push', 'mcp__git__read']);
    expect((await call(postTo(gateway, undefined), 'mcp__files__read')).json.error).toBeDefined();
    expect(await toolNamesOf(postTo(gateway, 'files'))).toContain('mcp__files__read');
  });

  verifies('P2', 'applies the permissions of the profile', async () => {
    const gateway = await gatewayUnderTest({ servers: servers(), config: { ...config, approvals: { keepOpenMs: 0 } } });
    const post = postTo(gateway, 'careful');
    expect(await toolNamesOf(post)).not.toContain('mcp__git__push');
    expect((await call(post, 'mcp__git__push')).json.error).toMatchObject({ data: { code: 'NAME_UNKNOWN' } });
    expect(JSON.stringify((await call(post, 'mcp__git__log')).json)).toContain('APPROVAL_PENDING');
    expect((await call(postTo(gateway, undefined), 'mcp__git__push')).json).toMatchObject({ result: text('push') });
    const unknown = (await gateway.audit()).filter(({ name }) => name === 'mcp__git__push');
    expect(unknown.at(-1)).toMatchObject({ caller: 'owner', detail: { outcome: 'NAME_UNKNOWN', profile: 'careful' } });
  });

  verifies('P4', 'accepts a key of its own and refuses a key of another profile', async () => {
    const gateway = await gatewayUnderTest({ servers: servers(), config });
    const key = await gateway.heddle.access.createKey(OWNER, { name: 'ci', roles: ['user'], profile: 'git' });
    const authorization = { authorization: `Bearer ${key}` };
    expect(await toolNamesOf(postTo(gateway, 'git', authorization))).toHaveLength(3);
    expect(await toolNamesOf(postTo(gateway, undefined, authorization))).toHaveLength(3);
    expect((await call(postTo(gateway, undefined, authorization), 'mcp__files__read')).json.error).toBeDefined();
    for (const other of ['files', 'careful']) {
      expect((await postTo(gateway, other, authorization)({ id: 1, method: 'ping' })).status).toBe(403);
    }
    const wanted = { name: 'x', roles: ['user'], profile: 'nowhere' } as const;
    await expect(gateway.heddle.access.createKey(OWNER, wanted)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
  });

  verifies('P4', 'accepts local callers without a credential if its auth is none, as `anonymous`', async () => {
    const gateway = await gatewayUnderTest({ servers: servers(), config });
    const send = (path: string, headers: Record<string, string> = {}) => {
      const [message, more] = modern('tools/call', { name: 'mcp__git__log', arguments: {} });
      const all = { 'content-type': 'application/json', ...more, ...headers };
      return gateway.send({ path, headers: all, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
    };
    expect((await send('/mcp/open')).json).toMatchObject({ result: text('log') });
    expect((await send('/mcp/open', { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await send('/mcp/open', { origin: 'https://evil.example' })).status).toBe(403);
    expect((await send('/mcp/open', { host: 'evil.example' })).status).toBe(403);
    for (const path of ['/mcp', '/mcp/git', '/api/servers'])
      expect([path, (await send(path)).status]).toEqual([path, 401]);
    const calls = (await gateway.audit()).filter(({ name }) => name === 'mcp__git__log');
    expect(calls[0]).toMatchObject({ caller: 'anonymous', detail: { profile: 'open' } });
  });
});

describe('auth: none', () => {
  const openGateway = { gateway: { auth: 'none' } };
  const openProfile = { profiles: { open: { auth: 'none' } } };

  verifies('P4', 'serves MCP to this machine without a credential, and refuses /api', async () => {
    const { send } = await gatewayUnderTest({ config: openGateway });
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    expect((await send({ headers, body })).json).toMatchObject({ result: {} });
    expect((await send({ method: 'GET', path: '/api/servers' })).status).toBe(401);
  });

  it.each([
    ['0.0.0.0', openGateway, 'gateway.auth'],
    ['::', openGateway, 'gateway.auth'],
    ['192.168.7.7', openGateway, 'gateway.auth'],
    ['0.0.0.0', openProfile, 'profiles.open.auth'],
    ['gateway.example', openProfile, 'profiles.open.auth'],
  ])('P4: refuses to listen on %s', async (host, config, setting) => {
    await expect(gatewayUnderTest({ config, gateway: { host } })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(setting),
      fix: expect.stringContaining('127.0.0.1'),
    });
  });

  verifies('P4', 'after a configuration change still refuses callers of other machines', async () => {
    const { heddle } = await gatewayUnderTest({ config: openGateway });
    const { settings } = heddle.access;
    const request = { headers: {} } as IncomingMessage;
    const admitted = [true, false].map((isLocal) =>
      profileAdmitter({ settings, authenticate: () => undefined, isLocal })(request, { profile: undefined }),
    );
    expect(admitted).toMatchObject([{ id: 'anonymous' }, undefined]);
  });

  verifies('P4', 'listens on 0.0.0.0 if every caller needs a credential', async () => {
    const { send } = await gatewayUnderTest({ gateway: { host: '0.0.0.0' } });
    expect((await send({ body: '{}' })).status).toBe(401);
  });
});
