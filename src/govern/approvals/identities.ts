import type { Settings } from '../../config/schema/schema.ts';
import { isNamedByProgram, ROLES } from '../../core/call/caller.ts';
import type { Caller, Role } from '../../core/call.ts';
import type { ApprovalStage } from '../../core/records/approval.ts';
import type { ApiKeyBook } from '../../store/api-key-book.ts';
import { type Approver, type CountsStill, isApproverIn, isOwnerName } from './stage-progress.ts';

const KEY_PREFIX = 'key:';

/** The identities that exist: the owner, the API keys, and the subjects of a token issuer. */
export interface Identities {
  readonly keys: ReadonlyMap<string, KnownIdentity>;
  /** The roles that tokens of an issuer can have; empty without an issuer. */
  readonly tokenRoles: readonly Role[];
  readonly issuers: readonly string[];
}

interface KnownIdentity extends Approver {
  /** Absent for a key of the configuration. */
  readonly createdAt?: number;
  readonly person?: true | undefined;
}

/** Reads the identities that exist now. */
export async function readIdentities(keys: ApiKeyBook, { gateway }: Pick<Settings, 'gateway'>): Promise<Identities> {
  const { auth, apiKeys } = gateway;
  const configured = apiKeys.map(
    ({ name, roles, person }): KnownIdentity => ({ id: KEY_PREFIX + name, roles, person }),
  );
  const stored = (await keys.all()).map(
    ({ name, roles, createdAt, person }): KnownIdentity => ({ id: KEY_PREFIX + name, roles, createdAt, person }),
  );
  const tokens = auth === undefined || auth === 'none' ? undefined : auth;
  const mapped = Object.values(tokens?.scopes ?? {});
  return {
    keys: new Map([...stored, ...configured].map((key) => [key.id, key])),
    tokenRoles:
      tokens === undefined ? [] : mapped.length === 0 ? ['user'] : ROLES.filter((role) => mapped.includes(role)),
    issuers: tokens === undefined ? [] : [tokens.issuer].flat(),
  };
}

/** Returns false for a key that was revoked. */
export const isKnown = ({ keys }: Identities, id: string): boolean => !id.startsWith(KEY_PREFIX) || keys.has(id);

/** Returns true if a person is behind the credential of a caller. A key may have been revoked since it was checked. */
export const hasPerson = ({ keys }: Identities, { person }: Pick<Caller, 'person'>): boolean =>
  person !== undefined && (!person.startsWith(KEY_PREFIX) || keys.get(person)?.person === true);

/**
 * Returns the test whether a decision still counts. Its key exists, is not another one of the same name that was created
 * later, and still has the roles. The issuer of a subject is still configured, and its tokens can have the roles.
 */
export const countsWith =
  (identities: Identities): CountsStill =>
  ({ by, at, roles = [] }) => {
    const holds = (present: readonly Role[]) => roles.every((role) => present.includes(role));
    if (!by.startsWith(KEY_PREFIX))
      return !isOfIssuer(by) || (isSubject(by, identities) && holds(identities.tokenRoles));
    const key = identities.keys.get(by);
    return key !== undefined && (key.createdAt === undefined || key.createdAt <= at) && holds(key.roles);
  };

/** Returns true for `<issuer>#<subject>`. */
const isOfIssuer = (id: string): boolean => id.includes('#') && !isOwnerName(id);

export interface Satisfiable {
  readonly stages: readonly ApprovalStage[];
  /** The principal that may not approve. */
  readonly except?: string;
}

const OWNER: Approver = { id: 'owner', roles: ['owner'] };

/**
 * Returns the index of the first stage that the existing identities cannot complete, each counting once; undefined if all
 * can be completed. An issuer of tokens has any number of subjects. Programs may name any approver that a rule lists.
 */
export function impossibleStage({ stages, except }: Satisfiable, identities: Identities): number | undefined {
  const known = [OWNER, ...identities.keys.values()].filter(({ id }) => id !== except);
  const named = stages.flatMap(({ approvers }) =>
    approvers.filter((one) => isSubject(one, identities) || isNamedByProgram(one)),
  );
  const subjects = [...new Set(named)].filter((id) => id !== except);
  const all: readonly Approver[] = [...known, ...subjects.map((id) => ({ id, roles: [] }))];
  // The stage that each identity is assigned to: a bipartite matching, extended one decision at a time.
  const assigned = new Map<string, number>();

  function assign(stage: number, tried: Set<string>): boolean {
    for (const identity of all) {
      const { id } = identity;
      if (tried.has(id) || !isApproverIn(stages[stage] ?? NO_APPROVERS, identity)) continue;
      tried.add(id);
      const other = assigned.get(id);
      if (other !== undefined && !assign(other, tried)) continue;
      assigned.set(id, stage);
      return true;
    }
    return false;
  }

  const at = stages.findIndex(({ approvers, need }, index) => {
    if (approvers.some((one) => identities.tokenRoles.some((role) => one === `role:${role}`))) return false;
    return Array.from({ length: need }).some(() => !assign(index, new Set()));
  });
  return at < 0 ? undefined : at;
}

const NO_APPROVERS = { approvers: [] };

/** Returns true if an approver is a subject of a configured issuer. */
const isSubject = (approver: string, { issuers }: Identities): boolean =>
  !approver.startsWith('role:') &&
  !isOwnerName(approver) &&
  issuers.some((issuer) => approver.startsWith(`${issuer}#`));
