import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { realTimer, type Timer } from '../../src/core/time.ts';
import { gatewayUnderTest } from '../../src/gateway/fixtures.ts';
import { SERVERS } from '../e2e/heddle-command.ts';
import { verifies } from '../requirements.ts';
import { TASK_CAPABILITIES, taskClient } from '../servers/task-client.ts';
import { temporaryFolder } from '../temporary-heddle.ts';
import { until } from '../until.ts';

const OPS = { id: 'key:ops', roles: ['approver'], via: 'cli' } as const;
const AGENT = { authorization: 'Bearer hk_agent' };
const STATE_SECRETS = [Buffer.alloc(32, 'one for all')];
const TOOL = 'mcp__counting__add';
const apiKey = (name: string, role: string) => ({
  ...{ name, roles: [role] },
  sha256: createHash('sha256').update(`hk_${name}`).digest('hex'),
});
/** Lets every call become a task at once, before it needs an approval. */
const atOnce: Timer = (delayMs, callback) => {
  if (delayMs > 0) return realTimer(delayMs, callback);
  callback();
  return () => {};
};

const linesIn = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []);

/** A gateway with the counting server, whose tool needs an approval. It can be opened again on the same store. */
async function counting(config: JsonObject = {}) {
  const folder = await temporaryFolder();
  const counted = join(folder, 'counted');
  const server = { command: process.execPath, args: [join(SERVERS, 'key-counting-server.mjs'), counted, 'add'] };
  const all = {
    mcpServers: { counting: server },
    mode: 'strict',
    approvals: { rules: [{ name: 'r', stages: [{ approvers: ['key:ops'] }] }] },
    gateway: { apiKeys: [apiKey('agent', 'user'), apiKey('ops', 'approver')] },
    ...config,
  };
  async function open(isLate = false) {
    const gateway = await gatewayUnderTest({
      ...{ folder, config: all },
      gateway: { stateSecrets: STATE_SECRETS, gatewayTasks: isLate ? { afterMs: 0, timer: atOnce } : {} },
    });
    const { approvals } = gateway.heddle;
    const client = taskClient(gateway, TASK_CAPABILITIES, AGENT);
    return {
      ...client,
      close: () => gateway.close(),
      begin: async () => {
        const { result } = await client.request('tools/call', { name: TOOL, arguments: { key: 'a' } });
        expect(result).toMatchObject({ resultType: 'task', status: 'working' });
        return String(result.taskId);
      },
      cancel: async (taskId: string) => (await client.request('tasks/cancel', { taskId })).result,
      all: () => approvals.list(OPS, { status: 'all' }),
      async approve() {
        await until('there is an approval', async () => (await approvals.list(OPS)).length > 0);
        for (const { id } of await approvals.list(OPS)) await approvals.decide(OPS, id, { verdict: 'approve' });
      },
    };
  }
  return { open, folder, counts: () => linesIn(counted) };
}

verifies('G7', 'a cancelled task withdraws its approval, and is cancelled after a restart', async () => {
  const { open, counts } = await counting();
  const first = await open();
  const taskId = await first.begin();
  expect(await first.cancel(taskId)).toBeDefined();
  expect(await first.all()).toMatchObject([{ status: 'void', reason: 'The client cancelled its call.' }]);
  await first.close();
  const second = await open();
  expect(await second.get(taskId)).toMatchObject({ status: 'cancelled' });
  expect(await second.cancel(taskId)).toBeDefined();
  expect(counts()).toEqual([]);
});

verifies('G7', 'a task that is cancelled after a restart stays cancelled after the next', async () => {
  const { open, counts } = await counting();
  const first = await open();
  const taskId = await first.begin();
  await first.close();
  const second = await open();
  expect(await second.get(taskId)).toMatchObject({ status: 'working' });
  await second.cancel(taskId);
  expect(await second.all()).toMatchObject([{ status: 'void' }]);
  await second.close();
  const third = await open();
  expect(await third.get(taskId)).toMatchObject({ status: 'cancelled' });
  expect(counts()).toEqual([]);
});

verifies('G7', 'a cancelled task leaves the approval to another call that waits for it', async () => {
  const { open, counts } = await counting();
  const [first, second] = [await open(), await open()];
  const [cancelled, kept] = [await first.begin(), await second.begin()];
  await second.cancel(cancelled); // A replica that does not keep the task.
  expect(await first.all()).toMatchObject([{ status: 'pending' }]);
  await second.approve();
  await second.waitForStatus(kept, 'completed');
  await first.waitForStatus(cancelled, 'cancelled');
  expect(await second.get(cancelled)).toMatchObject({ status: 'cancelled' });
  expect(counts()).toEqual(['add a']);
});

verifies('G7', 'a call that became a task before it needed an approval runs after a restart', async () => {
  const seen = join(await temporaryFolder(), 'seen');
  // Notes the arguments that it gets, and changes them.
  const program = `
    let sent = '';
    process.stdin.on('data', (part) => { sent += part; }).on('end', () => {
      const { key } = JSON.parse(sent).call.arguments;
      require('node:fs').appendFileSync(${JSON.stringify(seen)}, key + '\\n');
      console.log(JSON.stringify({ arguments: { key: key + ' changed' } }));
    });`;
  const hook = join(await temporaryFolder(), 'hook.cjs');
  writeFileSync(hook, program);
  const beforeCall = [{ tools: [TOOL], command: [process.execPath, hook], timeoutMs: 60_000 }];
  const { open, counts } = await counting({ hooks: { beforeCall } });
  const first = await open(true);
  const taskId = await first.begin();
  await until('it waits', async () => 'statusMessage' in (await first.get(taskId)));
  await first.close();
  const second = await open();
  await second.approve();
  const done = await second.waitForStatus(taskId, 'completed');
  expect(done).toMatchObject({ result: { content: [{ text: 'counted a changed' }] } });
  expect(counts()).toEqual(['add a changed']);
  expect(new Set(linesIn(seen))).toEqual(new Set(['a'])); // The hook gets the original arguments again.
});
