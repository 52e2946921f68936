import type { Caller, Role } from '../call.ts';
import { HeddleError } from '../errors.ts';

/** All roles, the most powerful first. */
export const ROLES = ['owner', 'operator', 'approver', 'auditor', 'user'] as const satisfies readonly Role[];

/** The caller id of clients that a profile with `auth: none` admits. It may be any client of this machine. */
export const ANONYMOUS_ID = 'anonymous';

/** Throws PERMISSION_DENIED unless the caller has one of these roles. */
export function requireRole(by: Caller, roles: readonly Role[]): void {
  if (by.roles.some((role) => roles.includes(role))) return;
  throw new HeddleError('PERMISSION_DENIED', `${by.id} has none of the roles ${roles.join(', ')}.`, {
    fix: 'Ask an owner for one of them.',
  });
}

/** An identity that may decide an approval, in configuration and in workflows. */
export const APPROVER_PATTERN =
  /^(role:(owner|operator|approver|auditor|user)|key:[A-Za-z0-9._-]{1,64}|local:.+|owner|library|[a-z]+:\/\/.+#.+)$/;
