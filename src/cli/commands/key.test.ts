import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { deskWith } from './fixtures.ts';

const FILE = { 'project/heddle.json': { profiles: { support: { naming: 'bare' } } } };

verifies('L5', 'names the untrusted file of a profile instead of calling the profile missing', async () => {
  const { heddle, path } = await deskWith(FILE);
  const words = ['key', 'create', 'sup', '--profile', 'support'];
  const { code, stderr } = await heddle(words);
  expect(code).toBe(2);
  expect(stderr).toContain(`The profile support is in ${path('project/heddle.json')}, which is not trusted yet.`);
  expect(stderr).toContain('heddle trust');
  const served = await heddle(['serve', '--stdio', '--profile', 'support']);
  expect([served.code, served.stderr]).toEqual([3, expect.stringContaining('which is not trusted yet')]);
  expect((await heddle(['key', 'create', 'sup', '--profile', 'suport'])).stderr).toContain(
    'There is no profile suport.',
  );
  await heddle(['trust', '--yes']);
  expect((await heddle(words)).code).toBe(0);
});
