import type { EditTarget } from '../../config/edit/edit-scopes.ts';
import { recordTrust, trustHash } from '../../config/sources/trust-book.ts';
import { homeFolder } from '../../files/home-folder.ts';
import { noteAct } from '../acts.ts';
import type { NamedServer } from './new-servers.ts';

/** Trusts servers that the user has just added by a command, so that no agreement is asked for. */
export async function trustOwn({ scope }: EditTarget, servers: readonly NamedServer[], project: string): Promise<void> {
  if (scope === 'user' || servers.length === 0) return;
  const trusted = servers.map(({ name, entry }) => ({ thing: `server ${name}`, hash: trustHash(entry) }));
  const page = Object.fromEntries(trusted.map(({ thing, hash }) => [thing, hash]));
  await recordTrust(homeFolder(process.env), project, page);
  noteAct({ trusted, project });
}
