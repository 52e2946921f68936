import type { Approval, StandingWish } from './records/approval.ts';

/** The time after which a standing approval ends that a user chooses in a prompt. */
const STANDING_MS = 28_800_000;

/** A choice in a prompt for an approval, besides once and no. */
export interface StandingChoice {
  /** The key at a terminal. */
  readonly key: 'a' | 't';
  /** The text in a prompt, and the value in a form. */
  readonly text: string;
  readonly wish: StandingWish;
}

const LASTING = 'for 8 h';
const ARGUMENTS: StandingChoice = {
  key: 'a',
  text: `this tool with these arguments, ${LASTING}`,
  wish: { exactly: true, untilMs: STANDING_MS },
};
const TOOL: StandingChoice = { key: 't', text: `this tool, ${LASTING}`, wish: { untilMs: STANDING_MS } };

/**
 * Returns the standing approvals that a prompt offers to an approver: the whole tool only if it is neither destructive nor
 * of high risk.
 */
export function standingChoices({ allowsStanding, subject }: Approval): readonly StandingChoice[] {
  if (!allowsStanding || subject.kind !== 'tool') return [];
  return subject.isDestructive || subject.riskLevel === 'high' ? [ARGUMENTS] : [ARGUMENTS, TOOL];
}
