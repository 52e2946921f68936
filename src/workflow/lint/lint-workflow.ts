import { isObject } from '../../core/json.ts';
import type { LintReport, WorkflowProblem } from '../../core/records/workflow.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import type { Mapping, Step, ToolUse, Workflow } from '../definition/canonical.ts';
import type { Places } from '../definition/compilation.ts';
import { cycleThrough, cyclicWorkflow } from '../definition/find-cycle.ts';
import { stepsIn } from '../definition/steps-in.ts';
import { readsIn } from '../expressions/evaluate-mapping.ts';
import { checkControl } from './check-control.ts';
import { checkMapping } from './check-mapping.ts';
import { checkRead, type LintFinding } from './check-reads.ts';
import { type EstimateContext, estimateRun } from './estimate-run.ts';
import { findSecrets } from './find-secrets.ts';
import type { DescribeTool, SchemaContext } from './result-schema.ts';
import { type LintPlace, walkScopes } from './walk-scopes.ts';

const MAX_PROBLEMS = 100;

/** The keys of the tool of a step, in both forms. */
const TOOL_KEYS = ['tool', 'toolName', 'tool_name'];

export interface LintContext extends EstimateContext {
  /** Returns what to do about a tool that is not found, such as the name that was meant. */
  readonly fixFor?: ((tool: string) => string | undefined) | undefined;
  /** Returns the first error of a workflow that cannot be used. */
  readonly whyBroken?: (workflow: string) => string | undefined;
  /** The place of a node in the source. */
  readonly places: Places;
}

/** Checks a compiled workflow against the tools that its caller sees. Calls no tool. */
export function lintWorkflow(workflow: Workflow, context: LintContext): Pick<LintReport, 'problems' | 'estimate'> {
  const problems: WorkflowProblem[] = [];
  const known = remembered(context.describe);
  const schemas = { form: workflow.form, describe: known, fixFor: context.fixFor };
  const reads = { ...schemas, ids: new Set([...stepsIn(workflow.steps)].map(({ id }) => id)) };

  const isFull = () => problems.length >= MAX_PROBLEMS;

  function report(place: LintPlace, finding: LintFinding, node?: object): void {
    if (isFull()) return;
    const keys = finding.code === 'TOOL_UNKNOWN' ? TOOL_KEYS : [];
    const at = (node && context.places(node, ...keys)) ?? (place.step && context.places(place.step, ...keys));
    problems.push({ ...finding, ...(place.path !== '' && { path: place.path }), ...(at && { at }) });
  }

  walkScopes(workflow, {
    step(place) {
      for (const finding of checkControl(place.step, schemas)) report(place, finding);
      for (const finding of checkCalled(place.step, workflow.name, { ...context, describe: known }))
        report(place, finding);
    },
    reads(place, mapping) {
      for (const read of readsIn(mapping)) {
        // To look for the name that was meant takes time: thousands of unknown names took minutes.
        if (isFull()) return;
        for (const finding of checkRead(place, read, reads)) report(place, finding, mapping);
      }
      if (!('truthy' in mapping)) reportSecrets(place, mapping);
    },
    use(place, use) {
      for (const { finding, node } of checkUse(place, use, schemas)) {
        // A classic workflow runs as it is: `errorHandling` decides about a refused input.
        report(place, workflow.form === 'classic' ? { ...finding, level: 'warning' } : finding, node);
      }
    },
  });

  function reportSecrets(place: LintPlace, mapping: Mapping): void {
    for (const { node, field, isCertain } of findSecrets(mapping)) {
      const message = `The literal in \`${field}\` looks like a secret.`;
      const fix = 'Pass it as input, or let the server have it from `${secret:name}` in its configuration.';
      report(place, { level: isCertain ? 'error' : 'warning', code: 'SECRET_LITERAL', message, fix }, node);
    }
  }

  if (isFull()) problems.push(notAll(problems));
  return { problems, estimate: estimateRun(workflow, { ...context, describe: known }) };
}

/** Reports that the check has ended early. It is an error if one of the problems is. */
function notAll(problems: readonly WorkflowProblem[]): WorkflowProblem {
  const message = `The check ended at ${MAX_PROBLEMS} problems; there may be more.`;
  const level = problems.some((problem) => problem.level === 'error') ? 'error' : 'warning';
  return { level, code: 'CHECK_ENDED', message, fix: 'Correct these, then check it again.' };
}

/** Looks each tool up once. */
function remembered(describe: DescribeTool): DescribeTool {
  const found = new Map<string, ReturnType<DescribeTool>>();
  return (tool) => {
    if (!found.has(tool)) found.set(tool, describe(tool));
    return found.get(tool);
  };
}

/** Checks the tools of code, the workflow that a step calls, and that it does not lead back to its own. */
function checkCalled(step: Step, name: string, context: LintContext): readonly LintFinding[] {
  const { workflow } = context;
  const isWorkflow = (tool: string) => context.describe(tool)?.servers[0] === 'workflow';
  const cycle = workflow && cycleThrough(step, name, { find: workflow, isWorkflow });
  if (cycle) return [cyclicWorkflow(cycle)];
  if (step.kind === 'code') return step.tools.flatMap((tool) => checkTool(tool, context));
  if (step.kind !== 'workflow' || !workflow || workflow(step.workflow)) return [];
  const broken = context.whyBroken?.(step.workflow);
  if (broken !== undefined) {
    const message = `The workflow \`${step.workflow}\` has errors: ${broken}`;
    return [
      { level: 'error', code: 'WORKFLOW_BROKEN', message, fix: `Run \`heddle lint ${quoteName(step.workflow)}\`.` },
    ];
  }
  const message = `There is no workflow \`${step.workflow}\`.`;
  return [{ level: 'error', code: 'WORKFLOW_UNKNOWN', message, fix: 'Correct its name, or add it to your workflows.' }];
}

type ToolContext = Pick<LintContext, 'describe' | 'fixFor'>;

function checkTool(tool: string, { describe, fixFor }: ToolContext): readonly LintFinding[] {
  const target = describe(tool);
  if (!target) {
    const message = `There is no tool \`${tool}\` that you may call.`;
    const fix = fixFor?.(tool) ?? `Run \`heddle search ${quoteName(tool)}\` to find its name.`;
    return [{ level: 'error', code: 'TOOL_UNKNOWN', message, fix }];
  }
  if (target.invalid === undefined) return [];
  const message = `The tool \`${tool}\` cannot be called: ${target.invalid}`;
  return [{ level: 'error', code: 'TOOL_BLOCKED', message, fix: `Run \`heddle doctor\`, or use another tool.` }];
}

function checkUse(
  { scope }: LintPlace,
  use: ToolUse,
  context: SchemaContext & ToolContext,
): readonly { readonly finding: LintFinding; readonly node?: object }[] {
  const { tool, input } = use;
  const unusable = checkTool(tool, context);
  const schema = context.describe(tool)?.definition.inputSchema;
  if (unusable.length > 0 || !isObject(schema)) return unusable.map((finding) => ({ finding, node: use }));
  return checkMapping(input, schema, { context, scope, tool }).map(({ node, ...problem }) => ({
    finding: { level: 'error', ...problem },
    ...(node && { node }),
  }));
}
