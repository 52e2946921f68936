import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/temporary-heddle.ts';
import { gatewayToken } from './gateway-token.ts';

it('returns one token to gateways that start at the same time', async () => {
  const home = join(await temporaryFolder(), 'home');
  const tokens = await Promise.all(Array.from({ length: 5 }, () => gatewayToken(home, undefined)));
  expect(new Set(tokens).size).toBe(1);
  expect(await readFile(join(home, 'gateway-token'), 'utf8')).toBe(`${tokens[0]}\n`);
  expect((await stat(join(home, 'gateway-token'))).mode & 0o777).toBe(0o600);
  expect(await readdir(home)).toEqual(['gateway-token']);
});

it('replaces an empty token file', async () => {
  const home = await temporaryFolder();
  await writeFile(join(home, 'gateway-token'), '\n');
  const token = await gatewayToken(home, undefined);
  expect(token).toMatch(/^[\w-]{32}$/);
  expect(await gatewayToken(home, undefined)).toBe(token);
});
