import type { Step } from './canonical.ts';
import { countSteps, depthOf, groupsIn } from './walk-steps.ts';

interface ExceededLimit {
  readonly level: 'error' | 'warning';
  readonly code: 'LIMIT_EXCEEDED';
  readonly message: string;
  readonly fix: string;
}

/** The limits that a workflow sets itself. */
export type StepLimits = Partial<Record<'steps' | 'nesting' | 'branches', number>>;

/** The limits that no workflow can exceed. */
export const MOST = { steps: 2000, nesting: 16, branches: 100 } as const;
/** The limits of a workflow that sets none. Above them it runs, with a warning. */
const USUAL = { steps: 200, nesting: 8, branches: 20 } as const;
const NOUNS = { steps: 'steps', nesting: 'levels of steps', branches: 'branches in one step' } as const;

/** Returns a problem for each limit that the steps exceed. */
export function checkLimits(steps: readonly Step[], set: StepLimits): readonly ExceededLimit[] {
  const found = { steps: countSteps(steps), nesting: depthOf(steps), branches: mostBranches(steps) };
  return (Object.keys(found) as (keyof typeof found)[]).flatMap((key) => {
    const usual = set[key] ?? USUAL[key];
    if (found[key] <= usual) return [];
    const isHard = found[key] > MOST[key] || set[key] !== undefined;
    const limit = found[key] > MOST[key] ? MOST[key] : usual;
    const level = isHard ? 'error' : 'warning';
    const fix =
      found[key] > MOST[key]
        ? 'Move a part to a sub-workflow.'
        : `Set \`limits.${key}\`, or move a part to a sub-workflow.`;
    const message = `The workflow has ${found[key]} ${NOUNS[key]}; the limit is ${limit}.`;
    return [{ level, code: 'LIMIT_EXCEEDED', message, fix }];
  });
}

const mostBranches = (steps: readonly Step[]): number =>
  steps.reduce((most, step) => {
    const own = step.kind === 'parallel' ? step.branches.length : 0;
    return Math.max(most, own, ...groupsIn(step).map((group) => mostBranches(group.steps)));
  }, 0);
