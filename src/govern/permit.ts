import { nameFor } from '../core/call/name-for.ts';
import { isTaskCancel } from '../core/call/task.ts';
import type { DecidedCall, Decision, ResolvedCall } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import type { Decide } from './decide.ts';

/** The step from a resolved to a decided call. Throws PERMISSION_DENIED or APPROVAL_REQUIRED. */
export type Permit = (call: ResolvedCall) => DecidedCall;

/** Decides on each call, once. Refuses a call that a rule denies, and one that needs approval and has none. */
export function permit(decide: Decide): Permit {
  return function permit(call) {
    const decision = decide(call.caller, call.target, call);
    if (!isPermitted(call, decision)) {
      throw decision.effect === 'ask' ? needsApproval(call, decision) : denied(call, decision);
    }
    return { ...call, decision };
  };
}

/** A caller that may no longer call a tool may still cancel its own task. */
const isPermitted = (call: ResolvedCall, { effect }: Decision): boolean =>
  effect === 'allow' || (effect === 'ask' && isSelfApproved(call)) || isTaskCancel(call);

/** Returns true if the user approved the call: only an owner at the CLI can approve their own call. */
export const isSelfApproved = ({ approved, caller }: ResolvedCall) =>
  approved === 'self' && caller.via === 'cli' && caller.roles.includes('owner');

const denied = (call: ResolvedCall, { rule, reason }: Decision) =>
  new HeddleError(
    'PERMISSION_DENIED',
    `${nameFor(call)} may not be ${call.kind === 'tool' ? 'called' : 'read'}. ${reason}`,
    {
      fix: `The rule is ${rule}; the operator who maintains it can change it.`,
      details: { rule },
    },
  );

const needsApproval = (call: ResolvedCall, { rule, reason }: Decision) => {
  const { kind, target } = call;
  const { publicName } = target;
  const without = looseningOf(call, rule);
  // The command line and the configuration accept the public name; `nameFor` may be a name of the caller's profile.
  const fix = `Let a person run it with \`heddle call ${publicName} … --yes\`, or ${without}.`;
  return new HeddleError('APPROVAL_REQUIRED', `${nameFor(call)} needs approval. ${reason}`, {
    fix: kind === 'tool' ? fix : `${without.charAt(0).toUpperCase()}${without.slice(1)}.`,
    details: { rule, reason },
  });
};

/** Returns the change of configuration that removes the need for approval. `permissions.allow` overrides only the mode. */
function looseningOf({ kind, target: { publicName, servers } }: ResolvedCall, rule: string): string {
  if (rule.startsWith('mode ')) {
    return kind === 'tool'
      ? `allow it with \`heddle permissions allow ${publicName}\``
      : `set \`permissions.readPermission\` of the server ${servers[0]} to allow`;
  }
  const [key = rule, pattern] = rule.split(': ');
  return pattern === undefined ? `change \`${key}\`` : `take ${pattern} out of \`${key}\``;
}
