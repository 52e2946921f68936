import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { localCaller } from '../../cli/local-caller.ts';
import type { Caller } from '../call.ts';
import { OWNER_PRINCIPAL, vaultPrincipal } from './vault-principal.ts';

describe('vaultPrincipal', () => {
  verifies('A6', 'is the same for the owner at the gateway and the user at the terminal', () => {
    expect(vaultPrincipal(localCaller())).toBe(OWNER_PRINCIPAL);
    expect(vaultPrincipal({ id: 'owner', roles: ['owner'] })).toBe(OWNER_PRINCIPAL);
  });

  const others: readonly Pick<Caller, 'id' | 'roles'>[] = [
    { id: 'key:laptop', roles: ['owner'] },
    { id: 'https://issuer.example#grace', roles: ['owner'] },
    { id: 'anonymous', roles: ['user'] },
    { id: 'local:grace', roles: ['user'] },
  ];
  for (const caller of others) {
    verifies('A6', `is the id of ${caller.id} with the role ${caller.roles}`, () => {
      expect(vaultPrincipal(caller)).toBe(caller.id);
    });
  }
});
