import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { temporaryFolder } from '../../../test/temporary-heddle.ts';
import { stateSecrets } from './state-secrets.ts';

const DAY = 24 * 3_600_000;

verifies('P3', 'creates the secret once, in a file with mode 0600, and adds a new one after 30 days', async () => {
  const home = join(await temporaryFolder(), 'home');
  const file = join(home, 'request-state-secrets');
  const [first, ...none] = await stateSecrets(home, () => DAY);
  expect([first?.length, none]).toEqual([32, []]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await stateSecrets(home, () => 30 * DAY)).toEqual([first]);
  const [second, before] = await stateSecrets(home, () => 31 * DAY);
  expect(second).not.toEqual(first);
  expect(before).toEqual(first);
  expect(await stateSecrets(home, () => 32 * DAY)).toEqual([second, first]);
  expect((await stateSecrets(home, () => 90 * DAY)).slice(1)).toEqual([second]);
});

verifies('P3', 'replaces a broken file', async () => {
  const home = await temporaryFolder();
  const file = join(home, 'request-state-secrets');
  await writeFile(file, 'nonsense\n12 short\n');
  const secrets = await stateSecrets(home, () => DAY);
  expect(secrets).toHaveLength(1);
  expect(await readFile(file, 'utf8')).toBe(`${DAY} ${secrets[0]?.toString('base64url')}\n`);
});

verifies('P3', 'gives concurrently started gateways the same secrets', async () => {
  const home = join(await temporaryFolder(), 'home');
  for (const [day, count] of [
    [1, 1],
    [40, 2],
  ] as const) {
    const all = await Promise.all(Array.from({ length: 8 }, () => stateSecrets(home, () => day * DAY)));
    expect(new Set(all.map((secrets) => secrets.join())).size).toBe(1);
    expect(all[0]).toHaveLength(count);
  }
});
