import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The token clients show: `HEDDLE_TOKEN`, else one made once and kept, so that clients need not be told again. */
export async function gatewayToken(home: string, preset: string | undefined): Promise<string> {
  if (preset) return preset;
  const file = join(home, 'gateway-token');
  try {
    const kept = (await readFile(file, 'utf8')).trim();
    if (kept) return kept;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
  }
  const token = randomBytes(24).toString('base64url');
  await mkdir(home, { recursive: true, mode: 0o700 });
  await writeFile(file, `${token}\n`, { mode: 0o600 });
  return token;
}
