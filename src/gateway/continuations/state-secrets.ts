import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../../core/time.ts';
import { editFile } from '../../files/edit-file.ts';

interface Secret {
  readonly madeAt: number;
  readonly bytes: Buffer;
}

const SECRET_BYTES = 32;
const RENEW_MS = 30 * 24 * 3_600_000;
const MAX_KEPT = 2;

/**
 * Reads the secrets that seal request states and task ids, newest first. They are stored in a file, so that a restarted
 * gateway opens earlier states. If the newest is 30 days old, a new one is added. Concurrent starts agree on one.
 */
export async function stateSecrets(home: string, clock: Clock = Date.now): Promise<readonly Buffer[]> {
  const file = join(home, 'request-state-secrets');
  const { after } = await editFile(file, (before) => renewed(before, clock()), { home });
  return readSecrets(after).map(({ bytes }) => bytes);
}

function renewed(text: string, now: number): string {
  const kept = readSecrets(text);
  const [newest] = kept;
  if (newest && now - newest.madeAt < RENEW_MS) return text;
  const secrets = [{ madeAt: now, bytes: randomBytes(SECRET_BYTES) }, ...kept].slice(0, MAX_KEPT);
  return secrets.map(({ madeAt, bytes }) => `${madeAt} ${bytes.toString('base64url')}\n`).join('');
}

/** Parses the file and skips invalid lines. States sealed with a lost secret no longer open. */
function readSecrets(text: string): readonly Secret[] {
  return text.split('\n').flatMap((line) => {
    const [madeAt = '', secret = ''] = line.split(' ');
    const bytes = Buffer.from(secret, 'base64url');
    return bytes.length === SECRET_BYTES && Number.isFinite(Number(madeAt)) ? [{ madeAt: Number(madeAt), bytes }] : [];
  });
}
