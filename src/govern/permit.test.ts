import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Caller } from '../core/call.ts';
import { compose } from '../core/call.ts';
import { aCall, ada, answers, grace, text } from '../core/fixtures.ts';
import { decides } from './fixtures.ts';
import { permit } from './permit.ts';

const under = (decide: ReturnType<typeof decides>) => compose([permit(decide)], answers('done'));
const asking = under(decides({ permissions: { ask: ['mcp__demo'] } }));
const denying = under(decides({ permissions: { deny: ['mcp__demo__echo'] } }));

verifies('G2', 'what is allowed goes on', async () => {
  await expect(under(decides())(aCall())).resolves.toEqual(text('done'));
});

verifies('G2', 'what is denied stops, and the error names the rule', async () => {
  await expect(denying(aCall())).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
    message: expect.stringContaining('mcp__demo__echo'),
    fix: expect.stringContaining('permissions.deny: mcp__demo__echo'),
  });
});

verifies('G6', 'what asks stops until a person agrees, and the error says how and why', async () => {
  await expect(asking(aCall())).rejects.toMatchObject({
    code: 'APPROVAL_REQUIRED',
    fix: expect.stringContaining('--yes'),
    details: { rule: 'permissions.ask: mcp__demo', reason: expect.any(String) },
  });
});

verifies('G6', 'says what would keep it from asking: to allow it helps only where no rule asks', async () => {
  const fixOf = (decide: ReturnType<typeof decides>) =>
    under(decide)(aCall({ input: { password: 'x' } })).catch(({ fix }) => fix);
  expect(await fixOf(decides({ permissions: { ask: ['mcp__demo'] } }))).toContain(
    'take mcp__demo out of `permissions.ask`',
  );
  const servers = new Map([['demo', { allowedTools: [] }]]);
  expect(await fixOf(decides({ servers }))).toContain('change `mcpServers.demo.permissions.allowedTools`');
  expect(await fixOf(decides())).toContain('add mcp__demo__echo to `permissions.allow`');
});

verifies('G6', 'the arguments of this very call can make it ask', async () => {
  const guarded = under(decides());
  await expect(guarded(aCall({ input: { password: 'x' } }))).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED' });
});

verifies('G6', 'what is sent to the server beside the arguments can make it ask, too', async () => {
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

verifies('G2', 'only an owner at the terminal can agree to their own call', async () => {
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

verifies('G2', 'nobody can agree to what is denied', async () => {
  const agreed = denying(aCall({ caller: grace, approved: 'self' }));
  await expect(agreed).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
});
