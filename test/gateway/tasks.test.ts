import { createHash } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { isObject } from '../../src/core/json.ts';
import { gatewayUnderTest } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { recordingServer, text } from '../servers/recording-server.ts';
import { TASK_CAPABILITIES, taskClient } from '../servers/task-client.ts';
import { TASKS, taskServer } from '../servers/task-server.ts';
import { until } from '../until.ts';

const BAD_ID = { code: -32602, message: 'Invalid or expired taskId', data: { reason: 'invalid_task_id' } };
const MISSING = { code: -32021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } };
const ANN = { action: 'accept', content: { name: 'Ann' } };

type Setting = NonNullable<Parameters<typeof gatewayUnderTest>[0]>;

async function opened(setting: Setting = {}, odd?: (value: JsonObject) => JsonObject) {
  const up = await taskServer(odd);
  onTestFinished(() => up.close());
  const open = () => gatewayUnderTest({ ...setting, servers: { demo: { type: 'http', url: up.url } } });
  const gateway = await open();
  return { up, open, gateway, ...taskClient(gateway) };
}

const flipped = (id: string) => `${id.slice(0, -9)}${id.at(-9) === 'A' ? 'B' : 'A'}${id.slice(-8)}`;

describe('a task of a server', () => {
  verifies('P3', 'is passed to a client with the tasks extension, which polls it to its end', async () => {
    const { call, get, waitForStatus, up } = await opened();
    const { result } = await call('slow', { ms: 100, label: 'far' });
    expect(result).toEqual({
      resultType: 'task',
      taskId: expect.stringMatching(/^t1\./),
      status: 'working',
      createdAt: expect.any(String),
      lastUpdatedAt: expect.any(String),
      ttlMs: 60_000,
      pollIntervalMs: 10,
    });
    expect(await get(result.taskId)).toMatchObject({ resultType: 'complete', taskId: result.taskId });
    const done = await waitForStatus(result.taskId, 'completed');
    expect(done).toMatchObject({ taskId: result.taskId, result: text('"far"') });
    expect(up.requests.find(([method]) => method === 'tasks/get')?.[1].taskId).not.toBe(result.taskId);
    expect(await get(result.taskId)).toEqual(done);
  });

  verifies('P1', 'has no reserved `_meta` keys, and neither has its result', async () => {
    const _meta = { 'io.modelcontextprotocol/serverInfo': { name: 'up' }, 'example.com/a': 1 };
    const marked = (value: JsonObject) => ({
      ...value,
      ...(isObject(value.result) && { result: { ...value.result, _meta } }),
      _meta,
    });
    const { call, waitForStatus } = await opened({}, marked);
    const { result } = await call('slow');
    const done = await waitForStatus(result.taskId, 'completed');
    const own = { _meta: { 'example.com/a': 1 } };
    expect([result._meta, done]).toMatchObject([own._meta, { ...own, result: own }]);
    expect(JSON.stringify([result, done])).not.toContain('serverInfo');
  });

  verifies('P3', 'passes the failure of the server', async () => {
    const { call, waitForStatus } = await opened();
    const complains = await waitForStatus((await call('complains')).result.taskId, 'completed');
    expect(complains.result).toMatchObject({ isError: true });
    const broken = await waitForStatus((await call('breaks')).result.taskId, 'failed');
    expect(broken.error).toEqual({ code: -32099, message: 'It broke.', data: { part: 'left' } });
    expect(broken).not.toHaveProperty('result');
  });

  verifies('P3', 'shows its input requests and takes responses one by one', async () => {
    const { call, request, waitForStatus } = await opened();
    const { taskId = '' } = (await call('asks_both')).result;
    const waiting = await waitForStatus(taskId, 'input_required');
    expect(waiting.inputRequests).toMatchObject({ left: { method: 'elicitation/create' }, right: {} });
    const respond = (inputResponses: JsonObject) => request('tasks/update', { taskId, inputResponses });
    expect((await respond({ left: ANN, stray: ANN })).result).toEqual({ resultType: 'complete' });
    expect(Object.keys((await waitForStatus(taskId, 'input_required')).inputRequests as JsonObject)).toEqual(['right']);
    await respond({ right: ANN });
    const { result } = await waitForStatus(taskId, 'completed');
    expect(JSON.stringify(result)).toContain('Ann');
  });

  verifies('P3', 'is cancelled by its client, and can be cancelled again after its end', async () => {
    const { call, request, waitForStatus, up } = await opened();
    const { taskId = '' } = (await call('endless')).result;
    expect((await request('tasks/cancel', { taskId })).result).toEqual({ resultType: 'complete' });
    expect(await waitForStatus(taskId, 'cancelled')).not.toHaveProperty('result');
    expect((await request('tasks/cancel', { taskId })).result).toEqual({ resultType: 'complete' });
    expect(up.count('tasks/cancel')).toBe(2);
  });

  verifies('P3', 'continues through another gateway with the same secret', async () => {
    const gateway = { stateSecrets: [createHash('sha256').update('s').digest()] };
    const first = await opened({ gateway });
    const { taskId } = (await first.call('slow')).result;
    await first.gateway.close();
    const second = taskClient(await first.open());
    expect((await second.waitForStatus(taskId, 'completed')).result).toEqual(text('"done"'));
    const stranger = taskClient(await gatewayUnderTest({ servers: { demo: { type: 'http', url: first.up.url } } }));
    expect((await stranger.request('tasks/get', { taskId: String(taskId) })).error).toEqual(BAD_ID);
  });

  it.each<[string, (id: string) => string, string]>([
    ['a flipped bit', flipped, 'forged'],
    ['a suffix', (id) => `${id}-TAMPERED`, 'f'],
    ['garbage', () => 'garbage', 'malformed'],
    ['a state', (id) => id.replace('t1.', 'h1.'), 'malformed'],
  ])('P3: rejects %s as a task id and audits the reason', async (_, bad, reason) => {
    const { call, request, gateway, up } = await opened();
    const taskId = bad(String((await call('slow')).result.taskId));
    expect((await request('tasks/get', { taskId })).error).toEqual(BAD_ID);
    expect((await request('tasks/update', { taskId, inputResponses: {} })).error).toEqual(BAD_ID);
    expect((await request('tasks/cancel', { taskId })).error).toEqual(BAD_ID);
    expect(up.count('tasks/get') + up.count('tasks/update') + up.count('tasks/cancel')).toBe(0);
    const refused = (await gateway.audit()).filter(({ detail }) => detail.outcome === 'refused');
    expect(refused.map(({ name }) => name).sort()).toEqual(['tasks/cancel', 'tasks/get', 'tasks/update']);
    for (const { detail } of refused) expect(detail.reason).toContain(reason);
  });

  verifies('P3', 'cannot be read, answered or cancelled by another principal', async () => {
    const { call, gateway, waitForStatus, up } = await opened();
    const by = { id: 'root', roles: ['owner'], via: 'cli' } as const;
    const token = await gateway.heddle.access.createKey(by, { name: 'eve', roles: ['user'] });
    const eve = taskClient(gateway, TASK_CAPABILITIES, { authorization: `Bearer ${token}` });
    const taskId = String((await call('asks')).result.taskId);
    await waitForStatus(taskId, 'input_required');
    expect((await eve.request('tasks/get', { taskId })).error).toEqual(BAD_ID);
    expect((await eve.request('tasks/update', { taskId, inputResponses: { who: ANN } })).error).toEqual(BAD_ID);
    expect((await eve.request('tasks/cancel', { taskId })).error).toEqual(BAD_ID);
    expect([up.count('tasks/update'), up.count('tasks/cancel')]).toEqual([0, 0]);
  });

  verifies('P3', 'has one call id in the audit log, however often it is polled', async () => {
    const { call, get, request, waitForStatus, gateway } = await opened();
    const taskId = String((await call('asks_twice')).result.taskId);
    for (const key of ['first', 'second']) {
      await until(
        `the ${key} input request is open`,
        async () => key in ((await get(taskId)).inputRequests as JsonObject),
      );
      for (let at = 0; at < 3; at++) await get(taskId);
      await request('tasks/update', { taskId, inputResponses: { [key]: ANN } });
    }
    await waitForStatus(taskId, 'completed');
    await get(taskId);
    const records = [...(await gateway.audit())].reverse().filter(({ name }) => name.endsWith('asks_twice'));
    expect(records.map(({ phase, detail }) => (phase === 'intent' ? phase : detail.outcome))).toEqual([
      ...['intent', 'working', 'input-required'],
      ...['intent', 'working', 'input-required'],
      ...['intent', 'working', 'ok'],
    ]);
    expect(new Set(records.map(({ callId }) => callId)).size).toBe(1);
  });

  verifies('P3', 'is hidden from a caller that may no longer call, but can be cancelled by it', async () => {
    const secrets = [createHash('sha256').update('s').digest()];
    const first = await opened({ gateway: { stateSecrets: secrets } });
    const taskId = String((await first.call('endless')).result.taskId);
    const strict = taskClient(
      await gatewayUnderTest({
        servers: { demo: { type: 'http', url: first.up.url } },
        config: { permissions: { ask: ['mcp__demo__endless'] } },
        gateway: { stateSecrets: secrets },
      }),
    );
    expect((await strict.request('tasks/get', { taskId })).error).toMatchObject({
      data: { code: 'APPROVAL_REQUIRED' },
    });
    expect((await strict.request('tasks/cancel', { taskId })).result).toEqual({ resultType: 'complete' });
    expect(await first.waitForStatus(taskId, 'cancelled')).toBeDefined();
  });
});

describe('a client', () => {
  verifies('P3', 'without the tasks extension gets the error of the server', async () => {
    const { gateway, up } = await opened();
    const plain = taskClient(gateway, { elicitation: {} });
    const { error, status } = await plain.call('slow');
    expect([error, status]).toEqual([expect.objectContaining(MISSING), 400]);
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const refused = await plain.request(method, { taskId: 'none', inputResponses: {} });
      expect([refused.error, refused.status]).toEqual([expect.objectContaining(MISSING), 400]);
    }
    const listening = await plain.request('subscriptions/listen', { notifications: { taskIds: ['none'] } });
    expect(listening.error).toMatchObject(MISSING);
    expect((await plain.call('greet')).result).toMatchObject({ resultType: 'complete', ...text('"hello"') });
    expect(up.count('tasks/get')).toBe(0);
  });

  verifies('P3', 'sees the tasks extension and no method of the earlier tasks', async () => {
    const { request } = await opened();
    const { capabilities } = (await request('server/discover', {})).result;
    expect(capabilities).toMatchObject({ extensions: { [TASKS]: {} } });
    expect(capabilities).not.toHaveProperty('tasks');
    for (const method of ['tasks/list', 'tasks/result']) {
      expect(await request(method, { taskId: 'none' })).toMatchObject({ status: 404, error: { code: -32601 } });
    }
    const mismatch = await request('tasks/get', { taskId: 'none' }, { 'mcp-name': 'other' });
    expect(mismatch).toMatchObject({ status: 400, error: { code: -32020 } });
  });
});

describe('a server that returns an invalid task', () => {
  const changed =
    (change: JsonObject) =>
    (value: JsonObject): JsonObject =>
      value.status === undefined ? value : { ...value, ...change };

  it.each<[string, JsonObject]>([
    ['an unknown status', { status: 'resting' }],
    ['no id', { taskId: '' }],
    ['an endless id', { taskId: 'x'.repeat(2000) }],
  ])('P3: is refused with %s', async (_, change) => {
    const { call } = await opened({}, changed(change));
    expect((await call('slow')).result).toMatchObject({ isError: true });
  });

  verifies('G3', 'of a call that a rule on arguments allowed gives its result, though the mode asks', async () => {
    const rule = {
      name: 'far',
      effect: 'allow',
      tools: ['mcp__demo__slow'],
      when: 'args.label == "far"',
      reason: 'ok',
    };
    const { call, waitForStatus, up } = await opened({ config: { mode: 'strict', policies: [rule] } });
    const { result } = await call('slow', { ms: 1, label: 'far' });
    expect(await waitForStatus(String(result.taskId), 'completed')).toMatchObject({ status: 'completed' });
    expect(up.requests.filter(([method]) => method === 'tasks/cancel')).toEqual([]);
  });

  verifies('P3', 'has invalid times corrected', async () => {
    const odd = { ttlMs: -1, pollIntervalMs: 'soon', createdAt: 7, task: {}, requestState: 's', result: {} };
    const { call } = await opened({}, changed(odd));
    const { result } = await call('slow');
    expect(Object.keys(result).sort()).toEqual(
      ['createdAt', 'lastUpdatedAt', 'resultType', 'status', 'taskId', 'ttlMs'].sort(),
    );
    expect([result.ttlMs, Number.isNaN(Date.parse(String(result.createdAt)))]).toEqual([null, false]);
  });

  verifies('P3', 'is refused if the client has no tasks extension', async () => {
    const server = recordingServer({ sneaky: () => ({ resultType: 'task', taskId: 'x', status: 'working' }) });
    const gateway = await gatewayUnderTest({ servers: { demo: server } });
    const { result } = await taskClient(gateway, {}).call('sneaky');
    expect(JSON.stringify(result)).toContain('which the caller does not accept');
  });
});
