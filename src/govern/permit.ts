import { nameFor } from '../core/call/name-for.ts';
import { isTaskCancel } from '../core/call/task.ts';
import type { ResolvedCall, Stage } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import type { Decide, Decision } from './decide.ts';

/** Refuses what a rule denies, and what nobody has agreed to yet. */
export function permit(decide: Decide): Stage<ResolvedCall> {
  return function permit(call, next) {
    // Whoever may no longer call may still stop what they began.
    if (isTaskCancel(call)) return next(call);
    const decision = decide(call.caller, call.target, call);
    if (decision.effect === 'allow' || (decision.effect === 'ask' && isSelfApproved(call))) return next(call);
    return Promise.reject(decision.effect === 'ask' ? needsApproval(call, decision) : denied(call, decision));
  };
}

/** Only the person at the terminal can agree to their own call, and only there. */
export const isSelfApproved = ({ approved, caller }: ResolvedCall) =>
  approved === 'self' && caller.via === 'cli' && caller.roles.includes('owner');

const denied = (call: ResolvedCall, { rule, reason }: Decision) =>
  new HeddleError(
    'PERMISSION_DENIED',
    `${nameFor(call)} may not be ${call.kind === 'tool' ? 'called' : 'read'}. ${reason}`,
    {
      fix: `The rule is ${rule}; whoever maintains it can change it.`,
      details: { rule },
    },
  );

const needsApproval = (call: ResolvedCall, { rule, reason }: Decision) => {
  const { kind, target } = call;
  const { publicName } = target;
  const without = loosening(call, rule);
  // A person at the command line, and the configuration, know the public name alone.
  const fix = `Let a person run it with \`heddle call ${publicName} … --yes\`, or ${without}.`;
  return new HeddleError('APPROVAL_REQUIRED', `${nameFor(call)} needs approval. ${reason}`, {
    fix: kind === 'tool' ? fix : `${without.charAt(0).toUpperCase()}${without.slice(1)}.`,
    details: { rule, reason },
  });
};

/** What keeps it from asking again. To allow it helps only against the mode: a rule that asks is stronger. */
function loosening({ kind, target: { publicName, servers } }: ResolvedCall, rule: string): string {
  if (rule.startsWith('mode ')) {
    return kind === 'tool'
      ? `add ${publicName} to \`permissions.allow\``
      : `set \`permissions.readPermission\` of the server ${servers[0]} to allow`;
  }
  const [key = rule, pattern] = rule.split(': ');
  return pattern === undefined ? `change \`${key}\`` : `take ${pattern} out of \`${key}\``;
}
