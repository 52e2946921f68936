import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Caller, InputResponses, Json, JsonObject } from '../../core/call.ts';
import { aTarget, text } from '../../core/fixtures.ts';
import { anApprovalRule, approvalBench, approvalIdOf, type Bench, ops } from './fixtures.ts';

const form = { form: true, url: false, sampling: false, samplingTools: false, roots: false };

describe('a form with a standing choice', () => {
  const WITH_ARGUMENTS = 'this tool with these arguments, for 8 h';
  const WITH_TOOL = 'this tool, for 8 h';
  const choose = (scope: Json): InputResponses => ({
    'heddle-approval': { action: 'accept', content: { approve: true, scope } },
  });

  /** Opens a bench whose caller is an approver, or has these roles. */
  async function benchOf(roles: Caller['roles'] = ['approver']) {
    const bench = await approvalBench({ ...ops, id: 'key:me', roles, person: 'me' });
    bench.apiKeys.push({ name: 'me', roles });
    return bench;
  }

  async function asked(bench: Bench, input: JsonObject = {}) {
    const result = await bench.send({ input, capabilities: form });
    const schema =
      result.kind === 'input-required' ? result.inputRequests['heddle-approval']?.params?.requestedSchema : {};
    const { properties = {} } = schema as { properties?: { scope?: { enum: readonly string[] } } };
    const continuation = { kind: 'approval', id: approvalIdOf(result) } as const;
    const respond = (responses: InputResponses) =>
      bench.send({ input, continuation, inputResponses: responses, capabilities: form });
    return { offered: properties.scope?.enum, respond };
  }

  verifies('G6', 'approves later calls of the tool until the standing approval ends', async () => {
    const bench = await benchOf();
    const { offered, respond } = await asked(bench, { path: 'a' });
    expect(offered).toEqual(['once', WITH_ARGUMENTS, WITH_TOOL]);
    await expect(respond(choose(WITH_TOOL))).resolves.toEqual(text('done'));
    await expect(bench.send({ input: { path: 'b' } })).resolves.toEqual(text('done'));
    expect(await bench.flow.standing.all()).toMatchObject([
      { approvedBy: 'key:me', expiresAt: bench.now + 28_800_000 },
    ]);
    bench.now += 28_800_000;
    expect((await bench.send({ input: { path: 'b' } })).kind).toBe('waiting');
    const names = (await bench.store.audit.search({ limit: 100 })).map(({ name }) => name);
    expect(names).toContain('approvals.standing.add');
  });

  verifies('G6', 'approves later calls with exactly these arguments, and no others', async () => {
    const bench = await benchOf();
    const input = { path: 'a', deep: { list: [1, '..'] } };
    const { respond } = await asked(bench, input);
    await expect(respond(choose(WITH_ARGUMENTS))).resolves.toEqual(text('done'));
    await expect(bench.send({ input: { deep: { list: [1, '..'] }, path: 'a' } })).resolves.toEqual(text('done'));
    const others = [{ ...input, more: 1 }, { path: 'a' }, { ...input, deep: { list: [2, '..'] } }, {}];
    for (const other of others) expect((await bench.send({ input: other })).kind).toBe('waiting');
    expect(bench.reached).toHaveLength(2);
  });

  verifies('G6', 'offers once alone to a requester that is no approver, and accepts nothing else', async () => {
    const bench = await benchOf(['user']);
    const { offered, respond } = await asked(bench);
    expect(offered).toBeUndefined();
    for (const scope of [WITH_ARGUMENTS, WITH_TOOL, 'always', null]) {
      expect((await respond(choose(scope))).kind).toBe('waiting');
    }
    expect([bench.reached, await bench.flow.standing.all()]).toEqual([[], []]);
    await expect(respond(choose('once'))).resolves.toEqual(text('done'));
  });

  verifies('G6', 'never offers the whole tool if it is destructive or of high risk', async () => {
    for (const facts of [{ destructive: true }, { riskLevel: 'high' }] as const) {
      const bench = await benchOf();
      bench.target = aTarget({ facts: { ...aTarget().facts, ...facts } });
      const { offered, respond } = await asked(bench);
      expect(offered).toEqual(['once', WITH_ARGUMENTS]);
      expect((await respond(choose(WITH_TOOL))).kind).toBe('waiting');
      expect(await bench.flow.standing.all()).toEqual([]);
    }
  });

  verifies('G6', 'offers once alone if a rule forbids standing approvals', async () => {
    const bench = await benchOf();
    bench.approvals = { rules: [anApprovalRule({ standing: false })] };
    expect((await asked(bench)).offered).toBeUndefined();
  });
});
