import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** An encrypted value, all fields in base64. */
export interface Sealed {
  readonly iv: string;
  readonly data: string;
  readonly tag: string;
}

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts a value with its name as associated data: under another name it does not decrypt. */
export function sealSecret(key: Buffer, name: string, value: string): Sealed {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(name));
  const data = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
  return { iv: iv.toString('base64'), data: data.toString('base64'), tag: cipher.getAuthTag().toString('base64') };
}

/** Decrypts a value. Returns undefined when the key, the name or the data differ. */
export function unseal(key: Buffer, name: string, { iv, data, tag }: Sealed): string | undefined {
  try {
    const options = { authTagLength: TAG_BYTES };
    const decipher = createDecipheriv(CIPHER, key, Buffer.from(iv, 'base64'), options)
      .setAAD(Buffer.from(name))
      .setAuthTag(Buffer.from(tag, 'base64'));
    return Buffer.concat([decipher.update(Buffer.from(data, 'base64')), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
