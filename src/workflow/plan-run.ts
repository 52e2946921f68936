import type { Json, JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import type { DryRun, PlannedStep, WorkflowProblem } from '../core/records/workflow.ts';
import { compileCheck } from '../schema/compile.ts';
import type { Mapping, Step, ToolUse, Workflow } from './definition/canonical.ts';
import { inputDefaults } from './definition/input-defaults.ts';
import { evaluateMapping, namesIn } from './expressions/evaluate-mapping.ts';
import { createScope, type RunScope } from './expressions/run-scope.ts';
import { type LintContext, lintWorkflow } from './lint/lint-workflow.ts';
import { type LintPlace, walkScopes } from './lint/walk-scopes.ts';

/** The decision about a call, as `dispatch` would make it now. */
export interface PlannedDecision {
  readonly effect: 'allow' | 'ask' | 'deny';
  readonly rule?: string;
}

export interface PlanContext extends LintContext {
  readonly digest: string;
  /** Decides on a call. `input` is the known part of its arguments. */
  decide(tool: string, input: JsonObject): Promise<PlannedDecision>;
}

/** Plans a run: evaluates what does not depend on results, checks it and decides on each call. Calls no tool. */
export async function planRun(workflow: Workflow, input: JsonObject, context: PlanContext): Promise<DryRun> {
  const { problems, estimate } = lintWorkflow(workflow, context);
  const known = createScope(
    new Map<string, Json>([
      ['input', { ...inputDefaults(workflow.input), ...input }],
      ['var', workflow.var ?? {}],
    ]),
  );
  const steps: PlannedStep[] = [];
  for (const drafted of draftSteps(workflow)) steps.push(await planStep(drafted, known, context));
  const approvals = steps.filter(({ kind, effect }) => kind === 'approval' || effect === 'ask').map(({ path }) => path);
  return {
    workflow: workflow.name,
    digest: context.digest,
    steps,
    approvals,
    problems: [...checkInput(workflow, input), ...problems],
    estimate,
  };
}

/** A step, or a call that a step makes besides its own. */
interface Draft {
  readonly path: string;
  readonly kind: string;
  readonly use?: ToolUse;
}

function draftSteps(workflow: Workflow): readonly Draft[] {
  const drafts: Draft[] = [];
  walkScopes(workflow, {
    step: ({ step, path }) => drafts.push(...draftsOf(step, path)),
    reads: () => {},
    use: (place, use) => drafts.push(...draftOfUse(place, use)),
  });
  return drafts;
}

/** Returns the drafts of a step. The call of a tool step comes with its use. */
function draftsOf(step: Step, path: string): readonly Draft[] {
  if (step.kind === 'tool') return [];
  if (step.kind === 'workflow') {
    return [{ path, kind: step.kind, use: { tool: `mcp__workflow__${step.workflow}`, input: step.input } }];
  }
  const inner = step.kind === 'code' ? step.tools : [];
  return [{ path, kind: step.kind }, ...inner.map((tool) => ({ path, kind: 'code', use: { tool, input: NOTHING } }))];
}

const NOTHING: Mapping = { object: {} };

function draftOfUse({ step, path }: LintPlace, use: ToolUse): readonly Draft[] {
  if (use === step?.compensate) return [{ path: `${path}/~compensate`, kind: 'tool', use }];
  const isMerge = step?.kind === 'fanout';
  return [{ path: isMerge ? `${path}/~merge` : path, kind: 'tool', use }];
}

async function planStep({ path, kind, use }: Draft, scope: RunScope, context: PlanContext): Promise<PlannedStep> {
  if (!use) return { path, kind };
  const { input, isWhole, later, problem } = kind === 'code' ? LATER : knownInput(use.input, scope);
  const schema = context.describe(use.tool)?.definition.inputSchema;
  const broken = problem ?? (kind === 'code' ? undefined : breaks(schema, input, { isWhole, tool: use.tool }));
  const decision = await context.decide(use.tool, input);
  return {
    ...{ path, kind, tool: use.tool, ...decision, input },
    ...(later && { later }),
    ...(broken !== undefined && { problem: broken }),
  };
}

interface KnownInput {
  readonly input: JsonObject;
  readonly isWhole: boolean;
  readonly later?: readonly string[];
  readonly problem?: string;
}

const LATER: KnownInput = { input: {}, isWhole: false, later: [] };

/** Evaluates the fields of an input that depend on the input of the run alone. */
function knownInput(mapping: Mapping, scope: RunScope): KnownInput {
  const fields = 'object' in mapping ? Object.entries(mapping.object) : [];
  if (fields.length === 0) return wholeInput(mapping, scope);
  const parts = fields.map(([key, item]) => [key, wholeInput({ object: { [key]: item } }, scope)] as const);
  const known = parts.filter(([, part]) => part.isWhole && part.problem === undefined);
  const problem = parts.find(([, part]) => part.problem !== undefined)?.[1].problem;
  const later = parts.flatMap(([key, part]) => (part.later ? key : []));
  return {
    input: Object.fromEntries(known.map(([key, part]) => [key, part.input[key]])),
    isWhole: known.length === fields.length,
    ...(later.length > 0 && { later: later.length === fields.length ? [] : later }),
    ...(problem !== undefined && { problem }),
  };
}

function wholeInput(mapping: Mapping, scope: RunScope): KnownInput {
  const names = [...namesIn(mapping)];
  if (!names.every((name) => scope.get(name) !== undefined)) return LATER;
  try {
    const value = evaluateMapping(mapping, scope);
    if (isObject(value)) return { input: value, isWhole: true };
    return { input: {}, isWhole: false, problem: 'The input is not an object.' };
  } catch (thrown) {
    return { input: {}, isWhole: false, problem: HeddleError.from(thrown).message };
  }
}

interface Broken {
  readonly isWhole: boolean;
  readonly tool: string;
}

/** Describes how an input breaks the schema of its tool. Fields that are not known yet are not missing. */
function breaks(schema: Json | undefined, input: JsonObject, { isWhole, tool }: Broken): string | undefined {
  if (!isObject(schema)) return undefined;
  try {
    return compileCheck(isWhole ? schema : { ...schema, required: [] }, tool)(input);
  } catch (thrown) {
    return HeddleError.from(thrown).message;
  }
}

function checkInput({ name, input: schema }: Workflow, input: JsonObject): readonly WorkflowProblem[] {
  const broken = breaks(schema, input, { isWhole: true, tool: name });
  if (broken === undefined) return [];
  const message = `The input does not fit the workflow: ${broken}.`;
  return [{ level: 'error', code: 'INPUT_INVALID', message, fix: 'Correct the input of the run.' }];
}
