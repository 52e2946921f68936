import type { Caller, JsonObject, Target } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { DryRun, LintReport } from '../../core/records/workflow.ts';
import type { Decide } from '../../govern/decide.ts';
import type { Workflow } from '../../workflow/definition/canonical.ts';
import type { CompiledWorkflow } from '../../workflow/definition/compile-workflow.ts';
import { WORKFLOW_PREFIX, workflowOfTool } from '../../workflow/definition/find-cycle.ts';
import { namesCalledBy } from '../../workflow/definition/steps-in.ts';
import type { LintContext } from '../../workflow/lint/lint-workflow.ts';
import type { PlannedDecision } from '../../workflow/plan-run.ts';
import type { ValidWorkflow, WorkflowLibrary } from './workflow-library.ts';

export interface ExamineOptions {
  readonly library: WorkflowLibrary;
  /** Finds a tool as a call of `by` would. Throws if there is none. */
  readonly describe: (by: Caller, tool: string, signal: AbortSignal) => Promise<Target>;
  readonly decide: Decide;
  readonly clock: () => number;
}

interface Examining {
  readonly by: Caller;
  readonly signal: AbortSignal;
}

/** Checks a workflow. One that cannot be compiled has the problems of its compilation alone. */
export async function lintOne(
  options: ExamineOptions,
  one: CompiledWorkflow & { readonly file?: string | undefined },
  examining: Examining,
): Promise<LintReport> {
  const { workflow, name = 'workflow', problems, file } = one;
  const head = { name, ...(file !== undefined && { file }) };
  if (!workflow) return { ...head, problems, estimate: { minCalls: 0, maxCalls: 0 } };
  const { lintWorkflow } = await import('../../workflow/lint/lint-workflow.ts');
  const found = lintWorkflow(workflow, await contextOf(options, one, examining));
  return { ...head, problems: [...problems, ...found.problems], estimate: found.estimate };
}

/** Plans a run, with the decision about each call as `dispatch` would make it now. */
export async function planOne(
  options: ExamineOptions,
  one: ValidWorkflow,
  { input, ...examining }: Examining & { readonly input: JsonObject },
): Promise<DryRun> {
  const { planRun } = await import('../../workflow/plan-run.ts');
  const context = await contextOf(options, one, examining);
  // Steps are calls of the run, which acts as its caller.
  const caller: Caller = { ...examining.by, via: 'workflow' };
  async function decide(tool: string, sent: JsonObject): Promise<PlannedDecision> {
    const target = context.describe(tool);
    if (!target) return { effect: 'deny', rule: 'unknown tool' };
    const { effect, rule } = options.decide(caller, target, {
      kind: 'tool',
      input: sent,
      taint: [],
      time: options.clock(),
    });
    return { effect, rule };
  }
  return planRun(one.workflow, input, { ...context, digest: one.digest, decide });
}

/** Looks up every tool that a workflow, or one that it calls, may call. */
async function contextOf(
  { library, describe }: ExamineOptions,
  { workflow, places }: CompiledWorkflow,
  { by, signal }: Examining,
): Promise<LintContext> {
  const known = library.all();
  const find = (name: string) => known.get(name)?.workflow;
  const names = [...new Set(workflow ? namesReached(workflow, find) : [])];
  const found = new Map<string, Target>();
  const fixes = new Map<string, string>();
  async function describeOne(name: string): Promise<void> {
    try {
      found.set(name, await describe(by, name, signal));
    } catch (thrown) {
      fixes.set(name, HeddleError.from(thrown).fix);
    }
  }
  await Promise.all(names.map(describeOne));
  const whyBroken = (name: string) => known.get(name)?.problems.find(({ level }) => level === 'error')?.message;
  const tools = { describe: (tool: string) => found.get(tool), fixFor: (tool: string) => fixes.get(tool) };
  return { ...tools, workflow: find, whyBroken, places };
}

function namesReached(workflow: Workflow, find: (name: string) => Workflow | undefined): readonly string[] {
  const seen = new Set([workflow.name]);
  const names: string[] = [];
  const open = [workflow];
  for (let next = open.pop(); next; next = open.pop()) {
    const { tools, workflows } = namesCalledBy(next);
    names.push(...tools, ...workflows.map((name) => WORKFLOW_PREFIX + name));
    // A tool may be a workflow, too.
    for (const name of [...workflows, ...tools.map((tool) => workflowOfTool(tool) ?? tool)]) {
      const one = seen.has(name) ? undefined : find(name);
      seen.add(name);
      if (one) open.push(one);
    }
  }
  return names;
}
