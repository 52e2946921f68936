import type { Step } from './canonical.ts';

/** A list of steps inside of a step. */
export interface StepGroup {
  /** `own`: a scope of its own. `case`: one of several lists of which one runs. `same`: part of the scope around it. */
  readonly scope: 'own' | 'case' | 'same';
  readonly steps: readonly Step[];
  /** The names that the scope has besides its steps. */
  readonly names?: readonly string[];
}

/** Lists the steps inside of a step, its fallback included. */
export function groupsIn(step: Step): readonly StepGroup[] {
  const { fallback } = step;
  const own = ownGroups(step);
  return fallback && 'kind' in fallback ? [...own, { scope: 'same', steps: [fallback] }] : own;
}

function ownGroups(step: Step): readonly StepGroup[] {
  switch (step.kind) {
    case 'sequential':
      return [{ scope: 'same', steps: step.steps }];
    case 'pipeline':
      return [{ scope: 'same', steps: step.parts.flatMap((part) => ('step' in part ? [part.step] : [])) }];
    case 'parallel':
      return step.branches.map(({ steps }) => ({ scope: 'own', steps }));
    case 'switch':
      return [...step.cases.map(({ steps }) => steps), step.else ?? []].map((steps) => ({ scope: 'case', steps }));
    case 'fanout':
      return [{ scope: 'own', steps: step.steps, names: [step.as] }];
    case 'loop':
      return [{ scope: 'own', steps: step.steps }];
    default:
      return [];
  }
}

/** Counts steps, those inside of others included. */
export const countSteps = (steps: readonly Step[]): number =>
  steps.reduce((sum, step) => sum + 1 + groupsIn(step).reduce((inner, group) => inner + countSteps(group.steps), 0), 0);

/** Returns the number of levels of steps. */
export const depthOf = (steps: readonly Step[]): number =>
  steps.reduce((most, step) => Math.max(most, 1, ...groupsIn(step).map((group) => 1 + depthOf(group.steps))), 0);
