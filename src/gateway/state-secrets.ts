import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../core/clock.ts';

interface Secret {
  readonly madeAt: number;
  readonly bytes: Buffer;
}

const SECRET_BYTES = 32;
const RENEW_MS = 30 * 24 * 3_600_000;
const MAX_KEPT = 2;

/**
 * What seals the states of clients, the newest first: kept, so that a gateway that starts again goes on with them, and
 * renewed every month.
 */
export async function stateSecrets(home: string, clock: Clock = Date.now): Promise<readonly Buffer[]> {
  const file = join(home, 'request-state-secrets');
  const kept = await readSecrets(file);
  const [newest] = kept;
  if (newest && clock() - newest.madeAt < RENEW_MS) return kept.map(({ bytes }) => bytes);
  const secrets = [{ madeAt: clock(), bytes: randomBytes(SECRET_BYTES) }, ...kept].slice(0, MAX_KEPT);
  const lines = secrets.map(({ madeAt, bytes }) => `${madeAt} ${bytes.toString('base64url')}\n`);
  await mkdir(home, { recursive: true, mode: 0o700 });
  const fresh = `${file}.${process.pid}`;
  await writeFile(fresh, lines.join(''), { mode: 0o600 });
  await rename(fresh, file);
  return secrets.map(({ bytes }) => bytes);
}

/** Lines that are no secrets are as good as none: whatever they sealed has to be asked again. */
async function readSecrets(file: string): Promise<readonly Secret[]> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw thrown;
  }
  return text.split('\n').flatMap((line) => {
    const [madeAt = '', secret = ''] = line.split(' ');
    const bytes = Buffer.from(secret, 'base64url');
    return bytes.length === SECRET_BYTES && Number.isFinite(Number(madeAt)) ? [{ madeAt: Number(madeAt), bytes }] : [];
  });
}
