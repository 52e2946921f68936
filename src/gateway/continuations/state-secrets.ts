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
 * What seals the states of clients, the newest first: kept, so that a gateway that starts again goes on with them. One
 * that starts when the newest is a month old makes another; those that start at the same time agree on one.
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

/** Lines that are no secrets are as good as none: whatever they sealed has to be asked again. */
function readSecrets(text: string): readonly Secret[] {
  return text.split('\n').flatMap((line) => {
    const [madeAt = '', secret = ''] = line.split(' ');
    const bytes = Buffer.from(secret, 'base64url');
    return bytes.length === SECRET_BYTES && Number.isFinite(Number(madeAt)) ? [{ madeAt: Number(madeAt), bytes }] : [];
  });
}
