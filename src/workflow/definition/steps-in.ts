import type { Step, ToolUse, Workflow } from './canonical.ts';
import { groupsIn } from './walk-steps.ts';

/** Returns every step of a list, the steps inside of others and fallbacks included, in the order of the definition. */
export function* stepsIn(steps: readonly Step[]): Generator<Step> {
  for (const step of steps) {
    yield step;
    for (const group of groupsIn(step)) yield* stepsIn(group.steps);
  }
}

/** Returns the calls of tools that a step itself may make: its own, its merge, its enrichments, its compensation. */
export function toolUsesOf(step: Step): readonly ToolUse[] {
  const own = ownUses(step);
  return step.compensate ? [...own, step.compensate] : own;
}

function ownUses(step: Step): readonly ToolUse[] {
  switch (step.kind) {
    case 'tool':
      return [step];
    case 'fanout':
      return step.merge ? [step.merge] : [];
    case 'pipeline':
      return step.parts.flatMap((part) => ('enrich' in part ? part.enrich : []));
    case 'code':
      return step.tools.map((tool) => ({ tool, input: { object: {} } }));
    default:
      return [];
  }
}

/** The names of the tools and of the workflows that a definition may call, each as it is written. */
export function namesCalledBy({ steps }: Pick<Workflow, 'steps'>): {
  readonly tools: readonly string[];
  readonly workflows: readonly string[];
} {
  const all = [...stepsIn(steps)];
  return {
    tools: all.flatMap((step) => toolUsesOf(step).map(({ tool }) => tool)),
    workflows: all.flatMap((step) => (step.kind === 'workflow' ? step.workflow : [])),
  };
}
