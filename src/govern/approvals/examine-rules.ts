import type { Settings } from '../../config/schema/schema.ts';
import type { Finding } from '../../core/records/finding.ts';
import { type Identities, impossibleStage } from './identities.ts';

/** Reports the approval rules that no identity can satisfy. Calls that such a rule matches are refused at once. */
export function examineApprovalRules({ approvals }: Pick<Settings, 'approvals'>, identities: Identities): Finding[] {
  return approvals.rules.flatMap(({ name, stages }): Finding[] => {
    const stage = impossibleStage({ stages }, identities);
    if (stage === undefined) return [];
    const { approvers = [], need = 1 } = stages[stage] ?? {};
    const what = stages.length === 1 ? 'it' : `its stage ${stage + 1}`;
    return [
      {
        level: 'error',
        subject: 'approvals',
        message: `No identity can satisfy the approval rule ${name}: ${what} needs ${need} of ${approvers.join(', ')}. Its calls are refused.`,
        fix: 'Create such a key with `heddle key create`, or change the rule in `approvals.rules`.',
        facts: { rule: name, stage, need, approvers },
      },
    ];
  });
}
