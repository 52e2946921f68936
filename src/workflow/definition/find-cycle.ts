import type { WorkflowProblem } from '../../core/records/workflow.ts';
import type { Step, Workflow } from './canonical.ts';
import { stepsIn, toolUsesOf } from './steps-in.ts';

/** The prefix of the public names of workflows. */
export const WORKFLOW_PREFIX = 'mcp__workflow__';
const SERVER_PREFIX = 'workflow.';
/** Names with a server: `mcp__server__tool`, `server.tool`. */
const IS_QUALIFIED = /^mcp__|\./;
/** The most names of a cycle that a message has. */
const MAX_NAMES = 10;

/** Returns the workflow that a tool stands for, by its public name or as `workflow.<name>`. */
export function workflowOfTool(tool: string): string | undefined {
  const prefix = [WORKFLOW_PREFIX, SERVER_PREFIX].find((one) => tool.startsWith(one));
  return prefix === undefined ? undefined : tool.slice(prefix.length);
}

/** Finds the workflows that steps call. */
export interface CalledWorkflows {
  find(name: string): Workflow | undefined;
  /** Returns true if a tool without a server in its name can only be the workflow of this name. */
  isWorkflow(tool: string): boolean;
}

/** Returns the step through which a workflow calls itself, and the names on the way; undefined if there is none. */
export function findCycle(workflow: Workflow, called: CalledWorkflows) {
  if (!wayBack(callsIn(workflow), workflow.name, called)) return undefined;
  for (const step of stepsIn(workflow.steps)) {
    const names = cycleThrough(step, workflow.name, called);
    if (names) return { step, names };
  }
  return undefined;
}

/** Returns the names on the shortest way from a step of the workflow `name` back to it, such as `a`, `b`, `a`. */
export const cycleThrough = (step: Step, name: string, called: CalledWorkflows): readonly string[] | undefined =>
  wayBack(callsOf(step), name, called);

/** Describes a cycle of workflows. */
export function cyclicWorkflow(names: readonly string[]): WorkflowProblem {
  const shown = names.length > MAX_NAMES ? [...names.slice(0, MAX_NAMES - 2), '…', ...names.slice(-1)] : names;
  const message = `The workflow calls itself: ${shown.join(' → ')}.`;
  return { level: 'error', code: 'WORKFLOW_CYCLIC', message, fix: 'Remove the cycle, or use `loop`.' };
}

function wayBack(
  calls: readonly WorkflowCall[],
  name: string,
  { find, isWorkflow }: CalledWorkflows,
): readonly string[] | undefined {
  const seen = new Set<string>();
  const namesOf = (all: readonly WorkflowCall[]) =>
    all.flatMap((call) =>
      !call.isBare || ((call.name === name || find(call.name)) && isWorkflow(call.name)) ? call.name : [],
    );
  const open = namesOf(calls).map((first): readonly string[] => [name, first]);
  for (const way of open) {
    const last = way.at(-1) as string;
    if (last === name) return way;
    const next = seen.has(last) ? undefined : find(last);
    seen.add(last);
    if (next) open.push(...namesOf(callsIn(next)).map((one) => [...way, one]));
  }
  return undefined;
}

/** A name that a step calls. A bare one may be the name of any tool. */
interface WorkflowCall {
  readonly name: string;
  readonly isBare: boolean;
}

/** By the steps of a definition: the workflows that it may call. Definitions are searched at each change and each start. */
const known = new WeakMap<readonly Step[], readonly WorkflowCall[]>();

function callsIn({ steps }: Workflow): readonly WorkflowCall[] {
  const before = known.get(steps);
  if (before) return before;
  const all = [...stepsIn(steps)].flatMap(callsOf).map((call) => [`${call.isBare} ${call.name}`, call] as const);
  const calls = [...new Map(all).values()];
  known.set(steps, calls);
  return calls;
}

function callsOf(step: Step): readonly WorkflowCall[] {
  const asTools = toolUsesOf(step).flatMap(({ tool }): readonly WorkflowCall[] => {
    const name = workflowOfTool(tool);
    if (name !== undefined) return [{ name, isBare: false }];
    return IS_QUALIFIED.test(tool) ? [] : [{ name: tool, isBare: true }];
  });
  return step.kind === 'workflow' ? [{ name: step.workflow, isBare: false }, ...asTools] : asTools;
}
