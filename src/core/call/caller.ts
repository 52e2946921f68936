import type { Caller, Role } from '../call.ts';
import { HeddleError } from '../errors.ts';

/** All roles, the most powerful first. */
export const ROLES = ['owner', 'operator', 'approver', 'auditor', 'user'] as const satisfies readonly Role[];

/** The caller id of clients that a profile with `auth: none` admits. It may be any client of this machine. */
export const ANONYMOUS_ID = 'anonymous';

/** The names that an embedding program may give to its agents and approvers. */
const NAME_IN_PROGRAM = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

interface NamedCaller {
  readonly id: string;
  readonly agent?: string | undefined;
}

/** Returns the name of a caller in settings: its id, or `library/planner` for an agent. No credential has such an id. */
export const callerName = ({ id, agent }: NamedCaller): string => (agent === undefined ? id : `${id}/${agent}`);

/** Tests for the name of an agent or approver of an embedding program. */
export const isNamedByProgram = (name: string): boolean => name.startsWith('library/');

/** Throws USAGE_INVALID unless a program may give this name to an agent or approver. */
export function requireNameInProgram(option: string, name: unknown): void {
  if (typeof name === 'string' && NAME_IN_PROGRAM.test(name)) return;
  throw new HeddleError(
    'USAGE_INVALID',
    `\`${option}\` is not a name of up to 64 letters, digits, \`.\`, \`_\` and \`-\`.`,
    {
      fix: 'Begin the name with a letter or digit, such as `planner`.',
    },
  );
}

/** Throws PERMISSION_DENIED unless the caller has one of these roles. */
export function requireRole(by: Caller, roles: readonly Role[]): void {
  if (by.roles.some((role) => roles.includes(role))) return;
  throw new HeddleError('PERMISSION_DENIED', `${by.id} has none of the roles ${roles.join(', ')}.`, {
    fix: 'Ask an owner for one of them.',
  });
}

/** An identity that may decide an approval, in configuration and in workflows. */
export const APPROVER_PATTERN =
  /^(role:(owner|operator|approver|auditor|user)|key:[A-Za-z0-9._-]{1,64}|local:.+|owner|library|library\/[A-Za-z0-9][A-Za-z0-9._-]{0,63}|[a-z]+:\/\/.+#.+)$/;
