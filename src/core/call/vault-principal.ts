import type { Caller } from '../call.ts';

/** The vault principal of the gateway's owner, of the user at the terminal and of the embedding program. */
export const OWNER_PRINCIPAL = 'owner';

/**
 * Returns the principal under which the tokens of a caller are stored. The user of this machine is one principal,
 * whether a call comes from the terminal, from the owner's token at the gateway or from an embedding program.
 */
export const vaultPrincipal = ({ id, roles }: Pick<Caller, 'id' | 'roles'>): string =>
  roles.includes('owner') && isLocalUser(id) ? OWNER_PRINCIPAL : id;

const isLocalUser = (id: string) => id === 'owner' || id === 'library' || id.startsWith('local:');
