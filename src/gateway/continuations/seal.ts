import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { JsonObject } from '../../core/call.ts';
import { isObject, parseJson } from '../../core/json.ts';
import type { Clock } from '../../core/time.ts';

/** The reason why a sealed text is rejected. It goes into the audit log only; the client gets one message for all. */
export type UnsealFailure =
  | 'not-text'
  | 'too-long'
  | 'malformed'
  | 'unknown-key'
  | 'forged'
  | 'foreign-principal'
  | 'other-call'
  | 'replayed'
  | 'expired';

/** Seals claims into text that a client returns later: encrypted and authenticated with AES-256-GCM. */
export interface Sealer {
  readonly clock: Clock;
  /** Random id of this process, for continuations that only this process can resume. */
  readonly owner: string;
  /** Text sealed in one form opens only in that form. */
  seal(form: Form, claims: JsonObject): string;
  open(form: Form, text: unknown): JsonObject | UnsealFailure;
}

/** The form of a sealed text: `h1` is a `requestState`, `t1` is a task id. */
export type Form = 'h1' | 't1';

export interface SealerOptions {
  /** The first secret seals, every secret opens. Defaults to a random secret for this process. */
  readonly secrets?: readonly Buffer[] | undefined;
  readonly clock?: Clock;
  readonly random?: (bytes: number) => Buffer;
}

interface Key {
  readonly id: string;
  readonly bytes: Buffer;
}

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const OWNER_BYTES = 9;
const MAX_CHARS = 64 * 1024;
const LABEL = 'heddle/request-state/1';
const PARTS = /^([a-z]1)\.([A-Za-z0-9_-]{8})\.([A-Za-z0-9_-]+)$/;

export function sealer(options: SealerOptions = {}): Sealer {
  const { clock = Date.now, random = randomBytes } = options;
  const { secrets = [random(KEY_BYTES)] } = options;
  const keys = secrets.map(toKey);
  const [current] = keys;
  if (!current) throw new TypeError('The list of state secrets is empty.');

  return {
    clock,
    owner: random(OWNER_BYTES).toString('base64url'),
    seal(form, claims) {
      const label = `${form}.${current.id}`;
      const iv = random(IV_BYTES);
      const cipher = createCipheriv(CIPHER, current.bytes, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(label));
      const sealed = [iv, cipher.update(JSON.stringify(claims), 'utf8'), cipher.final(), cipher.getAuthTag()];
      return `${label}.${Buffer.concat(sealed).toString('base64url')}`;
    },
    open(form, text) {
      if (typeof text !== 'string') return 'not-text';
      if (text.length > MAX_CHARS) return 'too-long';
      const [, written, id = '', body = ''] = PARTS.exec(text) ?? [];
      const bytes = Buffer.from(body, 'base64url');
      // Rejects other base64url spellings of the same bytes, so that a used state cannot be replayed under another text.
      const isCanonical = bytes.length > IV_BYTES + TAG_BYTES && bytes.toString('base64url') === body;
      if (written !== form || !isCanonical) return 'malformed';
      const key = keys.find((one) => one.id === id);
      return key ? decrypted(`${form}.${id}`, key, bytes) : 'unknown-key';
    },
  };
}

function toKey(secret: Buffer): Key {
  const derive = (label: string, bytes: number) => Buffer.from(hkdfSync('sha256', secret, '', label, bytes));
  return { id: derive(`${LABEL}/id`, 6).toString('base64url'), bytes: derive(LABEL, KEY_BYTES) };
}

function decrypted(label: string, key: Key, bytes: Buffer): JsonObject | 'forged' {
  try {
    const decipher = createDecipheriv(CIPHER, key.bytes, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(label))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    const plain = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
    const claims = parseJson(plain.toString('utf8'), { numbers: 'exact' });
    return isObject(claims) ? claims : 'forged';
  } catch {
    return 'forged';
  }
}
