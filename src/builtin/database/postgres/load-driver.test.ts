import { expect } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { importDriver } from './load-driver.ts';

verifies('B2', 'a missing driver names package and connection', async () => {
  const load = () => import('no-such-package' as string);
  await expect(importDriver('pg', 'main', load)).rejects.toMatchObject({
    code: 'DRIVER_MISSING',
    message: expect.stringContaining('The connection "main" needs the package pg'),
  });
  expect(await importDriver('pg', 'main', async () => 1)).toBe(1);
});
