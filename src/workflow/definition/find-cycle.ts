import type { WorkflowProblem } from '../../core/records/workflow.ts';
import type { Step, Workflow } from './canonical.ts';
import { stepsIn, toolUsesOf } from './steps-in.ts';

/** The prefix of the public names of workflows. */
export const WORKFLOW_PREFIX = 'mcp__workflow__';
const SERVER_PREFIX = 'workflow.';
/** The most names of a cycle that a message has. */
const MAX_NAMES = 10;

/** Returns the workflow that a tool stands for, by its public name or as `workflow.<name>`. */
export function workflowOfTool(tool: string): string | undefined {
  const prefix = [WORKFLOW_PREFIX, SERVER_PREFIX].find((one) => tool.startsWith(one));
  return prefix === undefined ? undefined : tool.slice(prefix.length);
}

type FindWorkflow = (name: string) => Workflow | undefined;

/** Returns the step through which a workflow calls itself, and the names on the way; undefined if there is none. */
export function findCycle(workflow: Workflow, find: FindWorkflow) {
  if (!wayBack(calledIn(workflow), workflow.name, find)) return undefined;
  for (const step of stepsIn(workflow.steps)) {
    const names = cycleThrough(step, workflow.name, find);
    if (names) return { step, names };
  }
  return undefined;
}

/** Returns the names on the shortest way from a step of the workflow `name` back to it, such as `a`, `b`, `a`. */
export const cycleThrough = (step: Step, name: string, find: FindWorkflow): readonly string[] | undefined =>
  wayBack(calledBy(step), name, find);

/** Describes a cycle of workflows. */
export function cyclicWorkflow(names: readonly string[]): WorkflowProblem {
  const shown = names.length > MAX_NAMES ? [...names.slice(0, MAX_NAMES - 2), '…', ...names.slice(-1)] : names;
  const message = `The workflow calls itself: ${shown.join(' → ')}.`;
  return { level: 'error', code: 'WORKFLOW_CYCLIC', message, fix: 'Remove the cycle, or use `loop`.' };
}

function wayBack(called: readonly string[], name: string, find: FindWorkflow): readonly string[] | undefined {
  const seen = new Set<string>();
  const open = called.map((first): readonly string[] => [name, first]);
  for (const way of open) {
    const last = way.at(-1) as string;
    if (last === name) return way;
    const next = seen.has(last) ? undefined : find(last);
    seen.add(last);
    if (next) open.push(...calledIn(next).map((one) => [...way, one]));
  }
  return undefined;
}

/** By the steps of a definition: the workflows that it calls. Definitions are searched at each change and each start. */
const known = new WeakMap<readonly Step[], readonly string[]>();

function calledIn({ steps }: Workflow): readonly string[] {
  const names = known.get(steps) ?? [...new Set([...stepsIn(steps)].flatMap(calledBy))];
  known.set(steps, names);
  return names;
}

function calledBy(step: Step): readonly string[] {
  const asTools = toolUsesOf(step).flatMap(({ tool }) => workflowOfTool(tool) ?? []);
  return step.kind === 'workflow' ? [step.workflow, ...asTools] : asTools;
}
