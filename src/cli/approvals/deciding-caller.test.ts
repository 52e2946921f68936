import { hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { temporaryFolder } from '../../../test/temporary-heddle.ts';
import { readInput } from '../command.ts';
import { manageApprovals } from '../commands/approvals.ts';
import { decidingCaller } from './deciding-caller.ts';

const access = {
  keyOf: async (sha256: string) =>
    sha256 === hash('sha256', 'hk_ops') ? { name: 'ops', sha256, roles: ['approver' as const] } : undefined,
};
const typed = (...words: string[]) => readInput(manageApprovals, ['approve', 'ap_1', ...words]);

verifies('G2', 'acts for the key in HEDDLE_KEY or in the file of --key, which wins', async () => {
  const file = join(await temporaryFolder(), 'key');
  await writeFile(file, 'hk_ops\n');
  const ops = { by: { id: 'key:ops', roles: ['approver'], via: 'cli' }, hasKey: true };
  expect(await decidingCaller(access, typed(), { HEDDLE_KEY: 'hk_ops' })).toEqual(ops);
  expect(await decidingCaller(access, typed('--key', file), { HEDDLE_KEY: 'hk_other' })).toEqual(ops);
});

verifies('G2', 'acts for the user at the terminal without a key', async () => {
  const { by, hasKey } = await decidingCaller(access, typed(), {});
  expect([by.id.slice(0, 6), by.roles, hasKey]).toEqual(['local:', ['owner'], false]);
});

verifies('G2', 'refuses an empty HEDDLE_KEY, as of a CI job that lacks the secret', async () => {
  const refused = { code: 'USAGE_INVALID', message: 'HEDDLE_KEY is set and empty.' };
  await expect(decidingCaller(access, typed(), { HEDDLE_KEY: '' })).rejects.toMatchObject(refused);
});

verifies('G2', 'refuses an unknown key and an empty file, and does not quote the key', async () => {
  const file = join(await temporaryFolder(), 'key');
  await writeFile(file, '\n');
  const refused = { code: 'PERMISSION_DENIED', message: 'The API key is unknown or revoked.' };
  await expect(decidingCaller(access, typed(), { HEDDLE_KEY: 'hk_secret' })).rejects.toMatchObject(refused);
  await expect(decidingCaller(access, typed('--key', file), {})).rejects.toMatchObject(refused);
});
