import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { recordingServer, text } from '../../test/servers/recording-server.ts';
import { temporaryHeddleClient } from '../../test/temporary-heddle.ts';
import type { JsonObject } from '../core/call.ts';
import type { HeddleError, OpenOptions } from '../index.ts';

const ASKS = { permissions: { ask: ['mcp__notes__write'] } };
const TWO_OF = (approvers: readonly string[], more: JsonObject = {}): JsonObject => ({
  ...ASKS,
  gateway: { apiKeys: [{ name: 'ops', sha256: 'a'.repeat(64), roles: ['approver'] }] },
  approvals: { rules: [{ name: 'two', stages: [{ approvers, need: 2 }], ...more }] },
});
const PAIR = TWO_OF(['library/ann', 'library/bo', 'key:ops']);

async function opened(config: JsonObject, options: Partial<OpenOptions> = {}) {
  const notes = recordingServer({ write: () => text('written') });
  const { config: _, cwd: __, ...rest } = options;
  const heddle = await temporaryHeddleClient({ servers: { notes }, config, ...rest });
  const write = (agent?: string) => heddle.call('notes.write', { text: 'hi' }, agent === undefined ? {} : { agent });
  const pending = async (agent?: string): Promise<string> => {
    const error: HeddleError = await write(agent).then(
      () => Promise.reject(new Error('It was called.')),
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ code: 'APPROVAL_PENDING' });
    return String(error.details.approval);
  };
  return { heddle, write, pending, calls: notes.calls, approvals: heddle.approvals };
}

describe('a decision in a name', () => {
  verifies('G6', 'counts for a rule that lists the name, each name once', async () => {
    const { write, pending, approvals, calls } = await opened(PAIR);
    const id = await pending();
    expect(await approvals.approve(id, { by: 'ann', note: 'Read it.' })).toMatchObject({ status: 'pending' });
    await expect(approvals.approve(id, { by: 'ann' })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    const { status, decisions } = await approvals.approve(id, { by: 'bo' });
    expect([status, decisions.map(({ by, roles, via }) => [by, roles, via])]).toEqual([
      'approved',
      [
        ['library/ann', [], 'library'],
        ['library/bo', [], 'library'],
      ],
    ]);
    await write();
    expect(calls).toHaveLength(1);
  });

  verifies('G6', 'decides nothing that no rule lists, whatever the name', async () => {
    const { pending, approvals, heddle } = await opened(ASKS);
    const id = await pending();
    for (const by of ['reviewer', 'owner', 'approver', 'library', 'ops']) {
      const refused = { code: 'PERMISSION_DENIED', message: expect.stringContaining(`library/${by}`) };
      await expect(approvals.approve(id, { by })).rejects.toMatchObject(refused);
      await expect(approvals.reject(id, { by, note: 'No.' })).rejects.toMatchObject(refused);
    }
    for (const by of ['key:ops', 'role:owner', 'a\nb', 'x'.repeat(10_000), '']) {
      await expect(approvals.approve(id, { by })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
    }
    expect(await heddle.approvals.get(id)).toMatchObject({ status: 'pending', decisions: [] });
    const keys = await opened(TWO_OF(['key:ops', 'role:owner']));
    const other = await keys.pending();
    await expect(keys.approvals.approve(other, { by: 'ops' })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  verifies('G6', 'rejects where the name is listed, and is recorded', async () => {
    const { pending, approvals } = await opened(PAIR);
    const rejected = await approvals.reject(await pending(), { by: 'ann', note: 'Not today.' });
    expect(rejected).toMatchObject({ status: 'rejected', decisions: [{ by: 'library/ann', note: 'Not today.' }] });
  });

  verifies(
    'G6',
    'is refused for the name of the agent that requested it, if the rule excludes the requester',
    async () => {
      const rule = TWO_OF(['library/ann', 'library/bo', 'library/cy'], { notRequester: true });
      const { pending, approvals } = await opened(rule);
      const id = await pending('ann');
      await expect(approvals.approve(id, { by: 'ann' })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
      await approvals.approve(id, { by: 'bo' });
      expect(await approvals.approve(id, { by: 'cy' })).toMatchObject({ status: 'approved' });
    },
  );

  verifies('G7', 'is made by onApprovalRequest, which is called until enough names have approved', async () => {
    const asked: number[] = [];
    const { write, calls } = await opened(PAIR, {
      onApprovalRequest({ decisions }) {
        asked.push(decisions.length);
        return { approve: true, by: decisions.length === 0 ? 'ann' : 'bo' };
      },
    });
    await write('planner');
    expect([asked, calls.length]).toEqual([[0, 1], 1]);
  });

  verifies('G7', 'leaves the rest to other approvers once the names of the program have decided', async () => {
    const { pending, heddle } = await opened(TWO_OF(['library/ann', 'key:ops']), {
      onApprovalRequest: () => ({ approve: true, by: 'ann' }),
    });
    const id = await pending();
    expect(await heddle.approvals.get(id)).toMatchObject({ status: 'pending', decisions: [{ by: 'library/ann' }] });
  });
});

describe('requiresApproval', () => {
  verifies('G6', 'says whether and why a call needs an approval, without calling or requesting', async () => {
    const { heddle, pending, calls } = await opened({
      permissions: { ask: ['mcp__notes__write'] },
      policies: [{ name: 'no guest', effect: 'deny', when: 'caller.agent == "guest"', reason: 'Guests read.' }],
    });
    const need = await heddle.requiresApproval('notes.write', { text: 'hi' });
    expect(need).toEqual({
      required: true,
      effect: 'ask',
      rule: 'permissions.ask: mcp__notes__write',
      reason: expect.any(String),
      stages: [{ approvers: ['role:owner', 'role:approver'], need: 1 }],
    });
    expect(await heddle.requiresApproval('notes.write', {}, { agent: 'guest' })).toMatchObject({
      required: false,
      effect: 'deny',
      reason: 'Guests read.',
    });
    expect(await heddle.approvals.list({ status: 'all' })).toEqual([]);
    expect(await heddle.stats()).toEqual([]);
    expect(calls).toEqual([]);
    await heddle.approvals.approve(await pending(), { standing: {} });
    expect(await heddle.requiresApproval('notes.write', { text: 'hi' })).toMatchObject({
      required: false,
      standing: expect.stringMatching(/^st_/),
    });
    expect(await heddle.requiresApproval('notes.write', {}, { agent: 'other' })).toMatchObject({ required: true });
    await expect(heddle.requiresApproval('notes.nothing')).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    await expect(heddle.requiresApproval('notes.write', {}, { agents: 'x' } as never)).rejects.toMatchObject({
      code: 'USAGE_INVALID',
    });
  });
});
