import { createHash } from 'node:crypto';
import type { ServerEntry } from '../schema/schema.ts';

/** Tells whether two entries start the same program or reach the same address, whatever else they say. */
export function signatureOf(entry: ServerEntry): string {
  // A digest, because arguments and URLs may carry credentials and signatures are stored.
  return createHash('sha256')
    .update(JSON.stringify(identityOf(entry)))
    .digest('hex');
}

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
