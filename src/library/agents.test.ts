import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { recordingServer, text } from '../../test/servers/recording-server.ts';
import { temporaryFolder, temporaryHeddle, temporaryHeddleClient } from '../../test/temporary-heddle.ts';
import type { JsonObject } from '../core/call.ts';
import type { AuditEntry } from '../core/records/audit-entry.ts';
import type { Approval, HeddleError, OpenOptions } from '../index.ts';

const OPS = { name: 'ops', sha256: 'a'.repeat(64), roles: ['approver'] };

async function opened(config: JsonObject = {}, options: Partial<OpenOptions> = {}) {
  const folder = await temporaryFolder();
  const notes = recordingServer({ write: () => text('written') });
  const { config: _, cwd: __, ...rest } = options;
  const heddle = await temporaryHeddleClient({ servers: { notes }, config, folder, ...rest });
  const write = (agent?: string, value = 'hi') =>
    heddle.call('notes.write', { text: value }, agent === undefined ? {} : { agent });
  const failure = (agent?: string, value?: string): Promise<HeddleError> =>
    write(agent, value).then(
      () => Promise.reject(new Error('It was called.')),
      (thrown) => thrown,
    );
  return { heddle, write, failure, calls: notes.calls, folder };
}

async function recordsIn(folder: string): Promise<readonly AuditEntry[]> {
  const heddle = await temporaryHeddle({ folder });
  const owner = { id: 'owner', roles: ['owner'], via: 'cli' } as const;
  const records: AuditEntry[] = [];
  for await (const batch of heddle.audit.search(owner, {}, new AbortController().signal)) {
    records.push(...batch.filter(({ name }) => name === 'mcp__notes__write' || name === 'notes.write'));
  }
  return records;
}

describe('the agent of a call', () => {
  verifies('X1', 'is in the audit records and the approval, beside the identity of the program', async () => {
    const seen: Approval[] = [];
    const { heddle, write, folder } = await opened(
      { permissions: { ask: ['mcp__notes__write'] } },
      {
        onApprovalRequest(approval) {
          seen.push(approval);
          return { approve: true };
        },
      },
    );
    await write('planner');
    await write();
    expect(seen.map(({ requestedBy, agent }) => [requestedBy, agent])).toEqual([
      ['library', 'planner'],
      ['library', undefined],
    ]);
    await heddle.close();
    const records = (await recordsIn(folder)).map(({ phase, caller, detail }) => [phase, caller, detail.agent]);
    for (const phase of ['intent', 'outcome']) {
      const ofPhase = records.filter(([one]) => one === phase);
      expect(new Set(ofPhase.map(([, caller]) => caller))).toEqual(new Set(['library']));
      expect(new Set(ofPhase.map(([, , agent]) => agent))).toEqual(new Set(['planner', undefined]));
    }
  });

  verifies('X1', 'is refused if it could be read as another caller or forge a line', async () => {
    const { failure, calls } = await opened();
    const names = ['x'.repeat(10_000), 'a\nb', 'a\u001b[2J', '', 'key:ops', 'role:owner', 'a/b', '-x', 'o#w', 'é'];
    for (const name of [...names, 7 as unknown as string]) {
      expect(await failure(name)).toMatchObject({ code: 'USAGE_INVALID', message: expect.not.stringContaining('\n') });
    }
    expect(calls).toEqual([]);
  });

  verifies('X1', 'never has the rights or limits of a key of its name', async () => {
    const { write, failure } = await opened({
      gateway: { apiKeys: [OPS] },
      policies: [{ name: 'no ops', effect: 'deny', callers: ['key:ops', 'ops'], reason: 'Not ops.' }],
      limits: { callers: { 'key:ops': { maxCalls: 1, windowMs: 60_000 } } },
    });
    await write('ops');
    await write('ops');
    const { failure: asked } = await opened({
      gateway: { apiKeys: [OPS] },
      permissions: { ask: ['mcp__notes__write'] },
      approvals: { rules: [{ name: 'ops', stages: [{ approvers: ['key:ops'] }] }] },
    });
    expect(await asked('ops')).toMatchObject({ code: 'APPROVAL_PENDING', details: { approvers: ['key:ops'] } });
    expect(await failure('key:ops')).toMatchObject({ code: 'USAGE_INVALID' });
  });
});

describe('rules about agents', () => {
  verifies('G3', 'conditions read caller.agent, and `callers` name one agent or all of the program', async () => {
    const { write, failure } = await opened({
      policies: [
        { name: 'no intern', effect: 'deny', when: 'caller.agent == "intern"', reason: 'Interns read.' },
        { name: 'no guest', effect: 'deny', callers: ['library/guest*'], reason: 'Guests read.' },
      ],
    });
    expect(await failure('intern')).toMatchObject({ code: 'NAME_UNKNOWN' });
    expect(await failure('guest-1')).toMatchObject({ code: 'NAME_UNKNOWN' });
    await write('planner');
    await write();
    const all = await opened({ policies: [{ name: 'none', effect: 'deny', callers: ['library'], reason: 'No.' }] });
    expect(await all.failure('planner')).toMatchObject({ code: 'NAME_UNKNOWN' });
  });

  verifies('G5', 'a rate limit of an agent stops that agent, and its calls count for the program', async () => {
    const limit = (maxCalls: number) => ({ maxCalls, windowMs: 600_000 });
    const { write, failure } = await opened({
      limits: { perCaller: limit(3), callers: { 'library/planner': limit(1) } },
    });
    await write('planner');
    expect(await failure('planner')).toMatchObject({ message: expect.stringContaining('library/planner') });
    await write('writer');
    await write();
    expect(await failure('writer')).toMatchObject({ message: expect.stringContaining('The caller library has') });
  });
});

describe('an approval of one agent', () => {
  const ASKS = { permissions: { ask: ['mcp__notes__write'] } };
  const idOf = ({ details }: HeddleError) => String(details.approval);

  verifies('G6', 'serves neither another agent nor the program itself', async () => {
    const { heddle, write, failure, calls } = await opened(ASKS);
    const id = idOf(await failure('planner'));
    await heddle.approvals.approve(id);
    for (const other of ['writer', undefined]) {
      const error = await failure(other);
      expect(error).toMatchObject({ code: 'APPROVAL_PENDING' });
      expect(idOf(error)).not.toBe(id);
    }
    expect(calls).toEqual([]);
    await write('planner');
    expect(calls).toHaveLength(1);
  });

  verifies('G6', 'as a standing approval covers later calls of that agent alone', async () => {
    const { heddle, write, failure, calls } = await opened(ASKS);
    await heddle.approvals.approve(idOf(await failure('planner')), { standing: {} });
    await write('planner');
    await write('planner', 'again');
    expect(await failure('writer')).toMatchObject({ code: 'APPROVAL_PENDING' });
    expect(await failure()).toMatchObject({ code: 'APPROVAL_PENDING' });
    expect(calls).toHaveLength(2);
    expect(await heddle.approvals.standing.list()).toMatchObject([{ agent: 'planner' }]);
  });
});

verifies('X1', 'keeps the agent in the calls of a workflow that it runs', async () => {
  const rule = { name: 'no planner', effect: 'deny', tools: ['mcp__notes__write'], callers: ['library/planner'] };
  const { heddle, calls } = await opened({ policies: [{ ...rule, reason: 'No.' }] });
  await heddle.tools();
  await heddle.registerWorkflow({
    heddle: 1,
    name: 'note',
    steps: [{ id: 'one', tool: 'notes.write', input: { text: 'hi' } }],
  });
  const run = (options: JsonObject) => heddle.call('workflow.note', {}, options);
  expect(await run({ agent: 'planner' })).toMatchObject({ isError: true });
  expect(await heddle.run('note', {}, { agent: 'planner' })).toMatchObject({ success: false });
  expect(calls).toEqual([]);
  expect(await run({ agent: 'writer' })).toMatchObject({ isError: false });
  expect(await heddle.run('note', {}, { agent: 'writer' })).toMatchObject({ success: true });
  expect(calls).toHaveLength(2);
});

verifies('X1', 'counts the calls of each agent', async () => {
  const { heddle, write } = await opened();
  await write('planner');
  await write('planner');
  await write('writer');
  await write();
  const counted = async () => (await heddle.stats({ per: 'agent' })).map(({ name, totalCalls }) => [name, totalCalls]);
  expect(await counted()).toEqual([
    ['planner', 2],
    ['writer', 1],
  ]);
  expect(await heddle.stats()).toMatchObject([{ name: 'mcp__notes__write', totalCalls: 4 }]);
  expect(await heddle.stats({ per: 'server', since: Number.MAX_SAFE_INTEGER })).toEqual([]);
  await expect(heddle.stats({ per: 'caller' as never })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  expect(await heddle.metrics()).toContainEqual(expect.objectContaining({ server: 'notes', totalCalls: 4 }));
});
