import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { gatewayUnderTest, TOKEN } from '../../src/gateway/fixtures.ts';
import type { CallResult, HeddleClient, OpenOptions } from '../../src/index.ts';
import { verifies } from '../requirements.ts';
import { ELICITATION_CLIENTS, type ElicitationClient, type User } from '../servers/elicitation-clients.ts';
import { EVERYTHING, startEverything } from '../servers/everything.ts';
import { taskClient } from '../servers/task-client.ts';
import { taskServer } from '../servers/task-server.ts';
import { temporaryHeddleClient } from '../temporary-heddle.ts';
import { until } from '../until.ts';
import { SERVERS } from './heddle-command.ts';

type TaskServer = Awaited<ReturnType<typeof taskServer>>;

async function server(odd?: (value: JsonObject) => JsonObject): Promise<TaskServer> {
  const started = await taskServer(odd);
  onTestFinished(() => started.close());
  return started;
}

const opened = (demo: JsonObject, options: OpenOptions = {}): Promise<HeddleClient> =>
  temporaryHeddleClient({ env: process.env, servers: { demo }, ...options });

interface TextResult {
  readonly isError: boolean;
  readonly text: string;
}

/** A client without tasks. */
interface TasklessClient {
  call(tool: string, input?: JsonObject, signal?: AbortSignal): Promise<TextResult>;
}

type Responses = (message: string) => JsonObject;

const named: Responses = (message) => ({ action: 'accept', content: { name: message } });

const textOf = (value: unknown) => String((value as { content: { text: string }[] }).content[0]?.text);

const CLIENTS: Readonly<Record<string, (up: TaskServer, answers: Responses) => Promise<TasklessClient>>> = {
  async 'a program'(up, answers) {
    const elicit = ({ message }: { message: string }) => answers(message) as { action: 'accept' };
    const heddle = await opened({ type: 'http', url: up.url }, { onElicitation: elicit });
    return {
      async call(tool, input = {}, signal) {
        const { value, isError }: CallResult = await heddle.call(`demo.${tool}`, input, signal ? { signal } : {});
        return { isError, text: textOf(value) };
      },
    };
  },
  async 'a legacy client'(up, answers) {
    const gateway = await gatewayUnderTest({ servers: { demo: { type: 'http', url: up.url } } });
    const user: User = (_method, { message }) => answers(String(message)) as never;
    const client: ElicitationClient = await ELICITATION_CLIENTS.legacy({ url: gateway.url, token: TOKEN }, { user });
    onTestFinished(() => client.close());
    return {
      async call(tool, _input, signal) {
        const value = await client.call(`mcp__demo__${tool}`, signal ? { signal } : {});
        return { isError: value.isError === true, text: textOf(value) };
      },
    };
  },
};

describe.each(Object.keys(CLIENTS))('%s', (who) => {
  const waiting = async (answers: Responses = named) => {
    const up = await server();
    return { up, ...(await (CLIENTS[who] as (typeof CLIENTS)[string])(up, answers)) };
  };

  verifies('P3', 'gets the result of a task like that of a call', async () => {
    const { up, call } = await waiting();
    expect(await call('slow')).toEqual({ isError: false, text: '"done"' });
    expect([up.count('tools/call'), up.count('tasks/get')]).toEqual([1, 1]);
  });

  verifies('P3', 'gets an error result of the tool unchanged', async () => {
    const { call } = await waiting();
    expect(await call('complains')).toEqual({ isError: true, text: '"no luck"' });
  });

  verifies('P3', 'gets the error of a failed task from the server', async () => {
    const { call } = await waiting();
    await expect(call('breaks')).rejects.toMatchObject({ message: expect.stringContaining('It broke.') });
  });

  verifies('P3', 'gets each input request of a task once, sequential or concurrent', async () => {
    const messages: string[] = [];
    const { up, call } = await waiting((message) => {
      messages.push(message);
      return named(message);
    });
    expect((await call('asks')).text).toBe(JSON.stringify({ who: named('Who?') }));
    expect((await call('asks_twice')).text).toContain('Second?');
    expect((await call('asks_both')).text).toBe(JSON.stringify({ left: named('Left?'), right: named('Right?') }));
    expect(messages).toEqual(['Who?', 'First?', 'Second?', 'Left?', 'Right?']);
    expect(up.count('tasks/update')).toBe(4);
  });

  verifies('P3', 'that cancels its call cancels the task', async () => {
    const { up, call } = await waiting();
    const abort = new AbortController();
    const left = call('endless', {}, abort.signal).catch(() => 'left');
    await until('the task is polled', () => up.count('tasks/get') > 0);
    abort.abort();
    expect(await left).toBe('left');
    await until('the server has the cancellation', () => up.count('tasks/cancel') === 1);
    expect(up.count('notifications/cancelled')).toBe(0);
  });
});

verifies('P3', 'cancels a task whose input request the caller does not support', async () => {
  const up = await server();
  const heddle = await opened({ type: 'http', url: up.url });
  await expect(heddle.call('demo.asks')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  expect([up.count('tasks/get'), up.count('tasks/cancel')]).toEqual([1, 1]);
});

verifies('P3', 'cancels a task that takes longer than the timeout of the call', async () => {
  const up = await server();
  const heddle = await opened({ type: 'http', url: up.url });
  await expect(heddle.call('demo.endless', {}, { timeoutMs: 300 })).rejects.toMatchObject({
    code: 'OUTCOME_UNKNOWN',
    details: { because: 'UPSTREAM_TIMEOUT' },
  });
  expect(up.count('tasks/cancel')).toBe(1);
});

verifies('P3', 'a server that dies during a task is OUTCOME_UNKNOWN', async () => {
  const heddle = await opened({ command: process.execPath, args: [join(SERVERS, 'task-server.ts')] });
  await expect(heddle.call('demo.dies')).rejects.toMatchObject({
    code: 'OUTCOME_UNKNOWN',
    message: expect.stringContaining('no longer knows the task'),
  });
});

describe.each(['stdio', 'http'] as const)(
  'a tool of the reference server that works only as a task, over %s',
  (over) => {
    const entry = async (): Promise<JsonObject> => {
      if (over === 'stdio') return { command: process.execPath, args: [EVERYTHING, 'stdio'] };
      const everything = await startEverything();
      onTestFinished(() => everything.close());
      return { type: 'http', url: everything.url };
    };

    verifies('P3', 'is called as a task, elicits and returns its result', async () => {
      const elicit = () => ({ action: 'accept', content: { interpretation: 'snake' } }) as const;
      const heddle = await opened(await entry(), { onElicitation: elicit });
      const { value } = await heddle.call('demo.simulate-research-query', { topic: 'python', ambiguous: true });
      expect(textOf(value)).toContain('Research Report: python (snake)');
      expect(value).not.toHaveProperty('_meta');
    });
  },
);

verifies(
  'P3',
  'a long call of a server without tasks becomes a gateway task, and its cancellation reaches the server',
  async () => {
    const tapped = join(mkdtempSync(join(tmpdir(), 'heddle-tapped-')), 'said');
    onTestFinished(() => rmSync(dirname(tapped), { recursive: true, force: true }));
    const args = [join(SERVERS, 'wiretap.mjs'), tapped, process.execPath, EVERYTHING];
    const gateway = await gatewayUnderTest({
      servers: { demo: { command: process.execPath, args } },
      gateway: { gatewayTasks: { afterMs: 100 } },
    });
    const { call, request, get, waitForStatus } = taskClient(gateway);
    const tool = 'trigger-long-running-operation';
    const quick = (await call(tool, { duration: 0.5, steps: 2 })).result;
    expect(textOf((await waitForStatus(quick.taskId, 'completed')).result)).toContain('completed');
    const taskId = String((await call(tool, { duration: 60, steps: 2 })).result.taskId);
    await request('tasks/cancel', { taskId });
    expect(await get(taskId)).toMatchObject({ status: 'cancelled' });
    await until('the server has the cancellation', () =>
      readFileSync(tapped, 'utf8').includes('notifications/cancelled'),
    );
  },
);
