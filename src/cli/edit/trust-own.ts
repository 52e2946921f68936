import type { EditTarget } from '../../config/edit/edit-scopes.ts';
import { recordTrust, trustHash } from '../../config/sources/trust-book.ts';
import { homeFolder } from '../../files/home-folder.ts';
import type { NamedServer } from './new-servers.ts';

/** Trusts servers that the user has just added by a command, so that no agreement is asked for. */
export async function trustOwn({ scope }: EditTarget, servers: readonly NamedServer[], project: string): Promise<void> {
  if (scope === 'user' || servers.length === 0) return;
  const agreed = servers.map(({ name, entry }) => [`server ${name}`, trustHash(entry)]);
  await recordTrust(homeFolder(process.env), project, Object.fromEntries(agreed));
}
