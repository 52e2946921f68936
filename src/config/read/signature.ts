import { createHash } from 'node:crypto';
import type { ServerEntry } from '../schema/schema.ts';

/** Returns a digest of an entry that is equal for entries with the same command and arguments, or the same URL. */
export function signatureOf(entry: ServerEntry): string {
  // Hashed because signatures are stored, and arguments and URLs may carry credentials.
  return createHash('sha256')
    .update(JSON.stringify(identityOf(entry)))
    .digest('hex');
}

/** Returns the signature of the lists of an entry. With per-user credentials no list of other times counts. */
export const listSignatureOf = (entry: ServerEntry): string =>
  'oauth' in entry && entry.oauth?.credentials === 'user' ? `${signatureOf(entry)} user` : signatureOf(entry);

function identityOf(entry: ServerEntry): readonly string[] {
  switch (entry.type) {
    case 'stdio':
      return ['command', entry.command, ...entry.args];
    case 'sdk':
      return ['sdk', entry.name];
    default:
      return ['url', entry.url];
  }
}
