import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { recordingServer, text } from '../../test/servers/recording-server.ts';
import type { Result } from '../core/call.ts';
import { COMMAND_PROOF_VALUE, type GatewayUnderTest, gatewayUnderTest, JSON_HEADERS } from '../gateway/fixtures.ts';
import { COMMAND_PROOF, type CommandMessage } from './command-wire.ts';

const HEADERS = { ...JSON_HEADERS, [COMMAND_PROOF]: COMMAND_PROOF_VALUE };
const NO_COMMAND = [403, { error: 'Only commands of the user who runs the gateway may do this.' }];
const CALL = { id: 'a', kind: 'tool', name: 'demo.hello', input: {}, meta: {}, options: {}, wait: true };

const open = (config = {}) =>
  gatewayUnderTest({ servers: { demo: recordingServer({ hello: () => text('hi') }) }, config });

async function run({ send }: GatewayUnderTest, route: string, body: object): Promise<readonly CommandMessage[]> {
  const path = `/api/command/${route}`;
  const response = await send({ path, headers: HEADERS, body: JSON.stringify(body) });
  expect([response.status, response.headers['content-type']]).toEqual([200, 'application/x-ndjson']);
  return response.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe('the routes for commands', () => {
  verifies('L7', 'run a call as the local user, and name its tool before its result', async () => {
    const gateway = await open();
    expect(await run(gateway, 'dispatch', CALL)).toEqual([
      { target: { name: 'mcp__demo__hello', server: 'demo', repeatable: false } },
      { result: expect.objectContaining({ kind: 'complete', value: expect.objectContaining(text('hi')) }) },
    ]);
    const records = (await gateway.audit()).filter(({ name }) => name.endsWith('hello'));
    expect(records.map(({ caller, via }) => [caller, via])).toContainEqual(['local:tester', 'cli']);
  });

  verifies('L7', 'send the error of a call with its code, fix and details', async () => {
    const lines = await run(await open(), 'dispatch', { ...CALL, name: 'demo.helo' });
    expect(lines).toEqual([
      {
        error: {
          code: 'NAME_UNKNOWN',
          message: 'Nothing is named demo.helo.',
          fix: 'Did you mean demo.hello?',
          details: {},
        },
      },
    ]);
  });

  verifies('L7', 'list, describe and search without the maps of a target', async () => {
    const gateway = await open();
    const [list] = await run(gateway, 'list', { wait: true, server: 'demo' });
    expect(list).toMatchObject({ result: { items: [{ publicName: 'mcp__demo__hello' }] } });
    const [one] = await run(gateway, 'describe', { wait: true, name: 'hello' });
    expect(one).toMatchObject({ result: { publicName: 'mcp__demo__hello', definition: { name: 'hello' } } });
    const [hits] = await run(gateway, 'search', { wait: true, text: 'hello' });
    expect(hits).toMatchObject({ result: [{ target: { publicName: 'mcp__demo__hello' } }] });
    expect(JSON.stringify([list, one, hits])).not.toMatch(/equivalents|rateLimits|onlyFor/);
  });

  verifies('L7', 'show, decide and wait for the approval of a call', async () => {
    const gateway = await open({ permissions: { ask: ['mcp__demo__hello'] } });
    const waiting = async (call: object) => {
      const { result } = (await run(gateway, 'dispatch', call)).at(-1) ?? {};
      return result as Extract<Result, { kind: 'waiting' }>;
    };
    const { kind, approval, continuation } = await waiting(CALL);
    expect([kind, continuation]).toEqual(['waiting', { kind: 'approval', id: approval.id }]);
    const body = { wait: true, approval: approval.id };
    const [shown] = await run(gateway, 'approval', body);
    expect(shown).toMatchObject({ result: { id: approval.id, status: 'pending', requestedBy: 'local:tester' } });
    const settled = run(gateway, 'settled', body);
    const [decided] = await run(gateway, 'decide', { ...body, verdict: 'reject', note: 'No.' });
    expect(decided).toMatchObject({ result: { status: 'rejected' } });
    expect(await settled).toMatchObject([{ result: { status: 'rejected' } }]);
    const [late] = await run(gateway, 'decide', { ...body, verdict: 'approve' });
    expect(late).toMatchObject({ error: { code: 'APPROVAL_SETTLED' } });

    const other = await waiting({ ...CALL, input: { a: 1 } });
    const approved = { ...CALL, input: { a: 1 }, approved: 'self', continuation: other.continuation };
    expect((await run(gateway, 'dispatch', approved)).at(-1)).toMatchObject({ result: { kind: 'complete' } });
  });

  verifies('P2', 'act as a key with the proof of a command, and are closed to a key alone', async () => {
    const key = 'hk_of-an-owner';
    const sha256 = createHash('sha256').update(key).digest('hex');
    const gateway = await open({ gateway: { apiKeys: [{ name: 'one', sha256, roles: ['owner'] }] } });
    const authorization = `Bearer ${key}`;
    const request = { path: '/api/command/dispatch', body: JSON.stringify(CALL) };
    const alone = await gateway.send({ ...request, headers: { ...JSON_HEADERS, authorization } });
    expect([alone.status, alone.json]).toEqual(NO_COMMAND);
    expect((await gateway.send({ ...request, headers: { ...HEADERS, authorization } })).status).toBe(200);
    const records = (await gateway.audit()).filter(({ name }) => name.endsWith('hello'));
    expect([...new Set(records.map(({ caller, via }) => `${caller} ${via}`))]).toEqual(['key:one cli']);
  });

  verifies('P4', 'refuse a key whose profile does not exist, and one without the role of a caller', async () => {
    const keys = { gone: { roles: ['user'], profile: 'gone' }, watcher: { roles: ['auditor'] } };
    const apiKeys = Object.entries(keys).map(([name, key]) => {
      return { name, sha256: createHash('sha256').update(`hk_${name}`).digest('hex'), ...key };
    });
    const { send } = await open({ gateway: { apiKeys } });
    for (const [name, message] of [
      ['gone', 'The profile gone of key:gone does not exist.'],
      ['watcher', 'key:watcher has none of the roles user, owner.'],
    ]) {
      const headers = { ...HEADERS, authorization: `Bearer hk_${name}` };
      const { json } = await send({ path: '/api/command/dispatch', headers, body: JSON.stringify(CALL) });
      expect(json).toMatchObject({ error: { code: 'PERMISSION_DENIED', message } });
    }
  });

  verifies(
    'P2',
    'are closed to a client that has the token alone, so that it cannot approve its own calls',
    async () => {
      const { send } = await open();
      const body = JSON.stringify({ ...CALL, approved: 'self' });
      for (const proof of [{}, { [COMMAND_PROOF]: '' }, { [COMMAND_PROOF]: `${COMMAND_PROOF_VALUE}x` }]) {
        const response = await send({ path: '/api/command/dispatch', headers: { ...JSON_HEADERS, ...proof }, body });
        expect([response.status, response.json]).toEqual(NO_COMMAND);
      }
    },
  );

  it.each([
    ['an unknown field', { ...CALL, caller: { id: 'x' } }, 'caller'],
    ['a missing field', { ...CALL, input: undefined }, 'input'],
    ['another kind', { ...CALL, kind: 'subscription' }, 'kind'],
    ['an approval of another person', { ...CALL, approved: 'operator' }, 'approved'],
    ['an unknown option', { ...CALL, options: { retries: 3 } }, 'options'],
    ['incomplete capabilities', { ...CALL, capabilities: { form: true } }, 'capabilities'],
    ['an unknown continuation', { ...CALL, continuation: { kind: 'x', server: 'demo' } }, 'continuation'],
    ['an approval of a server', { ...CALL, continuation: { kind: 'approval', id: 'a', server: 'b' } }, 'continuation'],
    ['an approval without an id', { ...CALL, continuation: { kind: 'approval' } }, 'continuation'],
    ['an id with spaces', { ...CALL, id: 'a b' }, 'id'],
    ['responses that are no objects', { ...CALL, inputResponses: { q1: 'yes' } }, 'inputResponses'],
  ])('P4: refuse a body with %s', async (_, body, field) => {
    const { send } = await open();
    const response = await send({ path: '/api/command/dispatch', headers: HEADERS, body: JSON.stringify(body) });
    expect([response.status, response.json]).toEqual([
      400,
      { error: `The field ${field} is missing, unknown or invalid.` },
    ]);
  });

  it.each([
    ['a body that is too large', 413, { body: JSON.stringify({ ...CALL, input: { a: 'x'.repeat(100_000) } }) }],
    ['a body that is no JSON', 400, { body: '{' }],
    ['a body that is no object', 400, { body: '[]' }],
    ['another media type', 415, { headers: { ...HEADERS, 'content-type': 'text/plain' }, body: '{}' }],
    ['no credential', 401, { headers: { 'content-type': 'application/json' }, body: '{}' }],
    ['another method', 405, { method: 'GET' }],
    ['an unknown route', 404, { path: '/api/command/toString', body: '{}' }],
  ])('P4: refuse %s with %i', async (_, status, request) => {
    const { send } = await open();
    const response = await send({ path: '/api/command/dispatch', headers: HEADERS, ...request });
    expect(response.status).toBe(status);
  });
});
