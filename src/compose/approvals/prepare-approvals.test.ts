import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { temporaryHeddle } from '../../../test/temporary-heddle.ts';

verifies('G7', 'requests stay open for keepOpenMs if a hook onApproval can inform approvers', async () => {
  const keepOpenMs = 20_000;
  const config = { approvals: { keepOpenMs } };
  const configured = { ...config, hooks: { onApproval: [{ command: ['inform-approvers'] }] } };
  const openFor = async (options: Parameters<typeof temporaryHeddle>[0]) =>
    (await temporaryHeddle(options)).approvals.keepOpenMs('ap_0');
  expect(await openFor({ config })).toBe(5000);
  expect(await openFor({ config: configured })).toBe(keepOpenMs);
  expect(await openFor({ config, hooks: { onApproval: async () => {} } })).toBe(keepOpenMs);
});
