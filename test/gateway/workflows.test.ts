import { createHash } from 'node:crypto';
import { describe, expect, onTestFinished } from 'vitest';
import type { Call, JsonObject } from '../../src/core/call.ts';
import { gatewayUnderTest, TOKEN } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { type Behaviour, recordingServer, text } from '../servers/recording-server.ts';
import { SDK_CLIENTS } from '../servers/sdk-clients.ts';
import { taskClient } from '../servers/task-client.ts';
import { temporaryFolder } from '../temporary-heddle.ts';
import { until } from '../until.ts';

const GREET: JsonObject = {
  heddle: 1,
  description: 'Greets twice.',
  input: { type: 'object', required: ['who'], properties: { who: { type: 'string' } } },
  steps: [
    { id: 'first', tool: 'up.greet', input: { who: '$input.who' } },
    { id: 'again', tool: 'up.greet', input: { who: '$first.result.said' } },
  ],
  output: { said: '$again.result.said' },
};
const CONFIG: JsonObject = {
  mode: 'open',
  workflows: { greet: GREET },
  builtins: { filesystem: { enabled: false } },
  approvals: { keepOpenMs: 0 },
};
const greet: Behaviour = ({ who }) => text(JSON.stringify({ said: `Hello ${who}` }));

describe.each(SDK_CLIENTS)('%s', (_name, connect) => {
  verifies('W4', 'lists a workflow as a tool, calls it and gets progress for each step', async () => {
    const up = recordingServer({ greet });
    const { url } = await gatewayUnderTest({ servers: { up }, config: CONFIG });
    const client = await connect({ url, token: TOKEN });
    onTestFinished(() => client.close());
    const tools = await client.list();
    expect(tools.find(({ name }) => name === 'mcp__workflow__greet')).toMatchObject({
      description: 'Greets twice.',
      inputSchema: GREET.input,
      annotations: { readOnlyHint: false },
    });
    const received: JsonObject[] = [];
    const onprogress = (one: object) => void received.push(one as JsonObject);
    const result = await client.call('mcp__workflow__greet', { who: 'Bo' }, { onprogress });
    const output = { said: 'Hello Hello Bo' };
    expect(result).toMatchObject({ ...text(JSON.stringify(output)), structuredContent: output });
    expect(up.calls.map((call) => call.arguments)).toEqual([{ who: 'Bo' }, { who: 'Hello Bo' }]);
    expect(received.map(({ message }) => String(message).split(':')[0])).toEqual(['first', 'first', 'again', 'again']);
    const numbers = received.map(({ progress }) => Number(progress));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(await client.call('mcp__workflow__greet', {})).toMatchObject({ isError: true });
    expect(up.calls).toHaveLength(2);
  });

  verifies('W4', 'gets the error of a run with its id, and cancels a run by cancelling its call', async () => {
    const up = recordingServer({ greet: () => ({ ...text('No.'), isError: true }) });
    const { url, heddle } = await gatewayUnderTest({ servers: { up }, config: CONFIG });
    const client = await connect({ url, token: TOKEN });
    onTestFinished(() => client.close());
    const failed = await client.call('mcp__workflow__greet', { who: 'Bo' });
    const owner = { id: 'owner', roles: ['owner'], via: 'gateway' } as const;
    const [run] = await heddle.runs.list(owner, {});
    expect(failed).toMatchObject({ isError: true, _meta: { 'dev.heddle/run': run?.id } });
    expect(JSON.stringify(failed.content)).toContain(run?.id);
    up.change({ greet: () => new Promise(() => {}) });
    const abort = new AbortController();
    const calling = client.call('mcp__workflow__greet', { who: 'Bo' }, { signal: abort.signal }).catch(() => 'ended');
    await until('the step is called', () => up.calls.length === 2);
    abort.abort();
    expect(await calling).toBe('ended');
    await until('the run is cancelled', async () => (await heddle.runs.list(owner, {}))[0]?.status === 'cancelled');
    expect(up.cancelled).toEqual(['greet']);
  });
});

describe('a client with tasks', () => {
  /** Returns a server whose first call of `greet` waits until `open` is called. */
  function gatedServer() {
    const { promise, resolve } = Promise.withResolvers<void>();
    const up = recordingServer({
      greet: async (input, context) => {
        await promise;
        return greet(input, context);
      },
    });
    return { up, open: resolve };
  }

  const call = (client: ReturnType<typeof taskClient>, who = 'Bo') =>
    client.request('tools/call', { name: 'mcp__workflow__greet', arguments: { who } });

  verifies('W4', 'polls the run of a workflow by its task id, and cancels it', async () => {
    const { up, open } = gatedServer();
    const gateway = await gatewayUnderTest({ servers: { up }, config: CONFIG });
    const client = taskClient(gateway);
    const { result } = await call(client);
    expect(result).toMatchObject({ resultType: 'task', status: 'working', taskId: expect.stringMatching(/^t1\./) });
    expect(await client.get(result.taskId)).toMatchObject({ status: 'working' });
    const other = (await call(client, 'Al')).result;
    await until('both runs call', () => up.calls.length === 2);
    await client.request('tasks/cancel', { taskId: String(other.taskId) });
    expect(await client.waitForStatus(other.taskId, 'cancelled')).not.toHaveProperty('result');
    open();
    const done = await client.waitForStatus(result.taskId, 'completed');
    expect(done.result).toMatchObject({ structuredContent: { said: 'Hello Hello Bo' } });
  });

  verifies('W5', 'gets the result of its task after a restart of the gateway', async () => {
    const folder = await temporaryFolder();
    const stateSecrets = [createHash('sha256').update('s').digest()];
    const steps = [{ id: 'ok', approval: { title: 'Greet ${{ $input.who }}?' } }, ...(GREET.steps as JsonObject[])];
    const config = { ...CONFIG, workflows: { greet: { ...GREET, steps } } };
    const up = recordingServer({ greet });
    const setting = { folder, config, gateway: { stateSecrets }, servers: { up }, runs: true };
    const first = await gatewayUnderTest(setting);
    const { result } = await call(taskClient(first));
    expect(result.resultType).toBe('task');
    const owner = { id: 'owner', roles: ['owner'], via: 'gateway' } as const;
    await until('the step asks', async () => (await first.heddle.approvals.count(owner)) === 1);
    await first.close();
    expect(up.calls).toEqual([]);
    const gateway = await gatewayUnderTest(setting);
    const second = taskClient(gateway);
    expect(await second.get(result.taskId)).toMatchObject({ status: 'working' });
    const [asked] = await gateway.heddle.approvals.list(owner);
    expect(asked).toMatchObject({ subject: { kind: 'step', description: 'Greet Bo?' } });
    await gateway.heddle.approvals.decide(owner, asked?.id ?? '', { verdict: 'approve' });
    const done = await second.waitForStatus(result.taskId, 'completed');
    expect(done.result).toMatchObject({ structuredContent: { said: 'Hello Hello Bo' } });
    expect(up.calls).toHaveLength(2);
  });

  verifies('W4', 'gets nothing about a run of another caller', async () => {
    const { up, open } = gatedServer();
    const { heddle } = await gatewayUnderTest({ servers: { up }, config: CONFIG });
    const ada = { id: 'https://id.example#ada', roles: ['user'], via: 'gateway' } as const;
    const run = await heddle.runs.start(ada, 'greet', { who: 'Bo' }, {});
    const poll: Omit<Call, 'caller'> = {
      ...{ id: crypto.randomUUID(), name: 'mcp__workflow__greet', input: {}, meta: {}, options: {} },
      kind: 'tool',
      signal: new AbortController().signal,
      continuation: { kind: 'task', server: 'workflow', taskId: run.id, pollMs: 0 },
    };
    const eve = { id: 'https://id.example#eve', roles: ['user'], via: 'gateway' } as const;
    const refused = { code: 'UPSTREAM_REFUSED', message: 'There is no such run.' };
    await expect(heddle.dispatch({ ...poll, caller: eve })).rejects.toMatchObject(refused);
    await expect(heddle.runs.get(eve, run.id)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    expect(await heddle.runs.list(eve, {})).toEqual([]);
    expect(await heddle.dispatch({ ...poll, caller: ada })).toMatchObject({ kind: 'working' });
    const auditor = { id: 'key:aud', roles: ['auditor'], via: 'gateway' } as const;
    expect(await heddle.runs.get(auditor, run.id)).toMatchObject({ id: run.id, input: { who: 'Bo' } });
    await expect(heddle.runs.cancel(auditor, run.id)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    open();
    expect(await heddle.runs.settled(ada, run.id, poll.signal)).toMatchObject({ success: true });
  });
});
