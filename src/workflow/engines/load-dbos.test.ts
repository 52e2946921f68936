import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { loadDbos } from './load-dbos.ts';

verifies(
  'W7',
  'names the missing package of the engine for many machines, and the command that installs it',
  async () => {
    await expect(loadDbos(() => import('no-such-package' as string))).rejects.toMatchObject({
      code: 'DRIVER_MISSING',
      message: expect.stringContaining('`@dbos-inc/dbos-sdk`'),
      fix: expect.stringContaining('npm install @dbos-inc/dbos-sdk'),
    });
  },
);
