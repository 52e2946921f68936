import type { Settings } from '../../config/schema/schema.ts';
import type { Decision, Target } from '../../core/call.ts';
import { addedWords, type Sent, sensitiveIn } from '../sensitive.ts';

export type Mode = Settings['mode'];

const MODES = ['open', 'guarded', 'strict'] as const satisfies readonly Mode[];

/** Returns the stricter of two modes. */
export const stricterMode = (one: Mode, other: Mode): Mode => (MODES.indexOf(one) > MODES.indexOf(other) ? one : other);

const OPEN: Decision = { effect: 'allow', rule: 'mode open', reason: 'Mode open needs no approvals.' };
/** Returns true if no rule matched, so that the mode decided. */
export const isByMode = ({ rule }: Decision): boolean => rule.startsWith('mode ');

/** The decision of mode guarded on a target without risks. Arguments may change it. */
export const UNSUSPICIOUS: Decision = { effect: 'allow', rule: 'mode guarded', reason: 'No risk was found.' };

/** Decides by the mode, for targets that no rule matches. */
export function decideByMode(mode: Mode, target: Target): Decision {
  if (mode === 'open') return OPEN;
  const rule = `mode ${mode}`;
  if (mode === 'strict') return { effect: 'ask', rule, reason: `Mode strict asks for every external ${target.kind}.` };
  const reason = target.kind === 'extension' ? UNKNOWN_WRITE : riskReason(target);
  return reason ? { effect: 'ask', rule, reason } : UNSUSPICIOUS;
}

const UNKNOWN_WRITE = 'Nothing is known about the effects of methods of extensions.';

function riskReason({ facts }: Target): string | undefined {
  if (facts.requiresApproval) return 'The tool requires approval.';
  if (facts.destructive) return 'The tool is destructive.';
  return facts.riskLevel === 'high' ? 'The tool is of high risk.' : undefined;
}

/** Adds the arguments to a decision of the mode: sensitive ones ask. */
export type DecideByArguments = (decision: Decision, target: Target, sent: Sent | undefined) => Decision;

/** Returns the check of arguments, with words besides the built-in ones. */
export function argumentCheck(sensitiveWords: readonly string[]): DecideByArguments {
  const added = addedWords(sensitiveWords);
  return (decision, target, sent) => {
    // Only mode guarded reads the arguments, and only of a tool that no rule and no fact has decided on.
    if (decision !== UNSUSPICIOUS || !sent || target.kind !== 'tool') return decision;
    const valuesToo = !target.facts.readOnly;
    const reason = sensitiveIn(sent, valuesToo);
    if (reason) return { effect: 'ask', rule: 'mode guarded', reason };
    const byAdded = added && sensitiveIn(sent, valuesToo, added);
    return byAdded ? { effect: 'ask', rule: 'approvals.sensitiveWords', reason: byAdded } : decision;
  };
}
