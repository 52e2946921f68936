import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withFileLock } from '../../files/file-lock.ts';
import { writePrivateFile } from '../../files/private-file.ts';

/**
 * Returns the bearer token of the gateway: `HEDDLE_TOKEN`, or the content of `gateway-token` in the home folder. The
 * file is made on first use, so that clients keep their token when the gateway restarts.
 */
export async function gatewayToken(home: string, preset: string | undefined): Promise<string> {
  if (preset) return preset;
  const file = join(home, 'gateway-token');
  // Read again under the lock: two gateways that start together must share one token.
  return (await readToken(file)) || withFileLock(file, async () => (await readToken(file)) || makeToken(file));
}

async function readToken(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
    return '';
  }
}

async function makeToken(file: string): Promise<string> {
  const token = randomBytes(24).toString('base64url');
  await writePrivateFile(file, `${token}\n`);
  return token;
}
