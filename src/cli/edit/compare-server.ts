import { type Comparison, compareEntry } from '../../config/hosts/find-imports.ts';
import type { Json } from '../../core/call.ts';
import { openSecretStore } from '../../open-heddle.ts';
import { withReferences } from './inline-secrets.ts';
import { placeSecrets } from './move-secrets.ts';
import type { NamedServer } from './new-servers.ts';

/** Compares a host's server with Heddle's. A secret of the host that Heddle has in its secret store counts as equal. */
export async function compareServer({ name, entry }: NamedServer, known: Json | undefined): Promise<Comparison> {
  const plain = compareEntry(entry, known);
  if (plain !== 'different') return plain;
  const text = JSON.stringify(known);
  const found = await placeSecrets({ name, entry });
  const moved = found.filter(({ reference }) => text.includes(JSON.stringify(reference)));
  if (moved.length === 0 || compareEntry(withReferences(entry, moved), known) === 'different') return 'different';
  const store = await openSecretStore();
  const parts = moved.flatMap((secret) => secret.parts);
  const stored = await Promise.all(parts.map(({ name: one }) => store.get(one).catch(() => undefined)));
  return parts.every(({ value }, index) => stored[index] === value) ? 'same' : 'different';
}
