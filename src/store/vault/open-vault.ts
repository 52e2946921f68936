import type { Clock } from '../../core/time.ts';
import type { LeaseBook } from '../lease-book.ts';
import type { SignInBook } from '../sign-in-book.ts';
import type { Statements } from '../statements.ts';
import type { TokenVault } from '../token-vault.ts';
import type { ClientBook } from './client-book.ts';
import { clientBook } from './client-rows.ts';
import { tokenVault } from './grant-rows.ts';
import { leaseBook } from './lease-rows.ts';
import { type RekeyReport, resealAll } from './reseal-all.ts';
import { rowSealer } from './row-sealer.ts';
import { signInBook } from './sign-in-rows.ts';
import { passingKeys, type VaultKeyOptions, vaultKeys } from './vault-keys.ts';
import { readSalt } from './vault-tables.ts';

/** The parts of a store that hold credentials. */
export interface Vault {
  readonly vault: TokenVault;
  readonly clients: ClientBook;
  readonly signIns: SignInBook;
  readonly leases: LeaseBook;
  rekey(): Promise<RekeyReport>;
}

export interface OpenVaultOptions extends Omit<VaultKeyOptions, 'salt'> {
  readonly statements: Statements;
  readonly clock: Clock;
  /** True for a store in memory, whose key ends with the process too. */
  readonly isPassing: boolean;
}

/** Makes the parts that hold credentials. No key is read until a row is sealed or opened. */
export function openVault({ statements, clock, isPassing, ...place }: OpenVaultOptions): Vault {
  const keys = isPassing ? passingKeys() : vaultKeys({ ...place, salt: () => readSalt(statements) });
  const sealer = rowSealer(keys);
  return {
    vault: tokenVault(statements, sealer),
    clients: clientBook(statements, sealer),
    signIns: signInBook({ statements, sealer, clock }),
    leases: leaseBook(statements),
    rekey: () => resealAll(statements, sealer),
  };
}
