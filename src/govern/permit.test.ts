import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Caller, ResolvedCall } from '../core/call.ts';
import { aCall, ada, answers, grace, text } from '../core/fixtures.ts';
import { decides } from './fixtures.ts';
import { permit } from './permit.ts';

/** Returns a handler that permits a call and answers it; it rejects with the error of `permit`. */
const under = (decide: ReturnType<typeof decides>) => async (call: ResolvedCall) =>
  answers('done')(permit(decide)(call));
const asking = under(decides({ permissions: { ask: ['mcp__demo'] } }));
const denying = under(decides({ permissions: { deny: ['mcp__demo__echo'] } }));

verifies('G2', 'passes an allowed call on', async () => {
  await expect(under(decides())(aCall())).resolves.toEqual(text('done'));
});

verifies('G2', 'refuses a denied call and names the rule', async () => {
  await expect(denying(aCall())).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
    message: expect.stringContaining('mcp__demo__echo'),
    fix: expect.stringContaining('permissions.deny: mcp__demo__echo'),
  });
});

verifies('G6', 'refuses a call that needs approval and says why and how to approve it', async () => {
  await expect(asking(aCall())).rejects.toMatchObject({
    code: 'APPROVAL_REQUIRED',
    fix: expect.stringContaining('--yes'),
    details: { rule: 'permissions.ask: mcp__demo', reason: expect.any(String) },
  });
});

verifies('G6', 'names the setting to change: `permissions.allow` only if no rule asks', async () => {
  const fixOf = (decide: ReturnType<typeof decides>) =>
    under(decide)(aCall({ input: { password: 'x' } })).catch(({ fix }) => fix);
  expect(await fixOf(decides({ permissions: { ask: ['mcp__demo'] } }))).toContain(
    'take mcp__demo out of `permissions.ask`',
  );
  const servers = new Map([['demo', { allowedTools: [] }]]);
  expect(await fixOf(decides({ servers }))).toContain('change `mcpServers.demo.permissions.allowedTools`');
  expect(await fixOf(decides())).toContain('allow it with `heddle permissions allow mcp__demo__echo`');
});

verifies('G6', 'asks for approval because of the arguments of the call', async () => {
  const guarded = under(decides());
  await expect(guarded(aCall({ input: { password: 'x' } }))).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED' });
});

verifies('G6', 'asks for approval because of `_meta` and unknown parameters', async () => {
  const guarded = under(decides());
  const reasonOf = (sent: Parameters<typeof aCall>[0]) => guarded(aCall(sent)).catch(({ message }) => message);
  expect(await reasonOf({ meta: { 'example.com/apiKey': 'x' } })).toContain(
    'Its `_meta` looks sensitive: example.com/apiKey is named after “key”.',
  );
  expect(await reasonOf({ extraParams: { options: { password: 'x' } } })).toContain(
    'Its unknown parameters look sensitive',
  );
  expect(await reasonOf({ meta: { note: 'drop it' } })).toContain('a value contains “drop”');
  const input = {};
  await expect(guarded(aCall({ input, meta: { tenant: 'a' } }))).resolves.toEqual(text('done'));
  expect(await reasonOf({ input, meta: { secret: 'a' } })).toContain('`_meta`');
});

verifies('G2', 'lets only an owner at the CLI approve their own call', async () => {
  await expect(asking(aCall({ caller: grace, approved: 'self' }))).resolves.toEqual(text('done'));
  await expect(asking(aCall({ caller: grace }))).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED' });
  const others: readonly Caller[] = [
    ada,
    { ...grace, roles: ['operator', 'approver', 'user'] },
    ...(['gateway', 'library', 'console', 'workflow', 'code'] as const).map((via) => ({ ...grace, via })),
  ];
  for (const caller of others) {
    await expect(asking(aCall({ caller, approved: 'self' }))).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED' });
  }
});

verifies('G2', 'refuses a denied call even if it is self-approved', async () => {
  const agreed = denying(aCall({ caller: grace, approved: 'self' }));
  await expect(agreed).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
});

verifies('G2', 'passes the decision on with the call', () => {
  const call = permit(decides({ permissions: { allow: ['mcp__demo'] } }))(aCall());
  expect(call.decision).toMatchObject({ effect: 'allow', rule: 'permissions.allow: mcp__demo' });
});
