import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { Json } from '../../core/call.ts';
import { canonicalJson, isObject } from '../../core/json.ts';
import type { WorkflowProblem, WorkflowSource } from '../../core/records/workflow.ts';
import type { Step, Workflow } from './canonical.ts';
import { checkIds } from './check-ids.ts';
import { readClassic } from './classic/read-workflow.ts';
import {
  type OpenCompilation,
  openCompilation,
  type Places,
  type ReadWorkflow,
  type Reported,
  type RootValue,
} from './compilation.ts';
import { findForm } from './find-form.ts';
import { describeDuration } from './quantities.ts';
import { readRich } from './rich/read-workflow.ts';
import { readSource } from './source/read-source.ts';
import { checkLimits } from './step-limits.ts';
import { groupsIn } from './walk-steps.ts';

/** A compiled definition. It has a workflow and a digest if no problem is an error. */
export interface CompiledWorkflow {
  readonly workflow?: Workflow;
  /** The SHA-256 of the canonical JSON of the workflow. */
  readonly digest?: string;
  readonly problems: readonly WorkflowProblem[];
  /** The name as far as it is known, also of a workflow with errors. */
  readonly name?: string;
  readonly places: Places;
}

/** Compiles a definition of either form. Never throws: bad input gives problems, several at once. */
export function compileWorkflow(source: WorkflowSource): CompiledWorkflow {
  const read = readSource(source);
  if (!('tree' in read)) return { problems: [read], ...nameOf(source), places: () => undefined };
  const open = openCompilation(read);
  const root = { value: read.tree.value, path: [] };
  const found = readRoot(root, open);
  const named = nameOf(source, root.value);
  if (found) checkWhole(found, open);
  if (found && named.name === undefined) {
    open.report(root, { code: 'KEY_MISSING', message: 'The workflow has no name.', fix: 'Add `name`.' });
  }
  const { places } = open;
  const problems = open.problems.toSorted(byPlace);
  const isValid = !problems.some(({ level }) => level === 'error');
  if (!found || named.name === undefined || !isValid) return { problems, ...named, places };
  const workflow: Workflow = { ...found.workflow, name: named.name };
  return { workflow, digest: workflowDigest(workflow), problems, ...named, places };
}

const byPlace = ({ at: a }: WorkflowProblem, { at: b }: WorkflowProblem): number =>
  a && b ? a.line - b.line || a.column - b.column : 0;

/** Returns the SHA-256 of the canonical JSON of a workflow. */
export const workflowDigest = (workflow: Workflow): string =>
  createHash('sha256')
    .update(canonicalJson(workflow as unknown as Json))
    .digest('hex');

/** Returns the name of a workflow: its own, else that of its source, else that of its file. */
function nameOf({ name, file }: WorkflowSource, root?: Json): { readonly name?: string } {
  const own = isObject(root) && typeof root.name === 'string' ? root.name : undefined;
  const found = own ?? name ?? (file === undefined ? undefined : basename(file).replace(/\.\w+$/, ''));
  return found === undefined ? {} : { name: found };
}

function readRoot(root: RootValue, open: OpenCompilation): ReadWorkflow | undefined {
  const form = findForm(root.value);
  if (typeof form === 'object') return open.report(root, { code: 'FORM_UNKNOWN', ...form });
  return form === 'rich' ? readRich(root, open) : readClassic(root, open);
}

/** Checks the rules that concern several steps: limits, ids, and waits that end after the run. */
function checkWhole({ workflow: { steps, form, wallMs }, limits }: ReadWorkflow, open: OpenCompilation): void {
  for (const problem of checkLimits(steps, limits)) open.report({ path: ['steps'] }, problem);
  const report = (step: Step, problem: Reported) => open.report(open.originOf(step) ?? { path: ['steps'] }, problem);
  checkIds(steps, { form, report });
  checkWaits(steps, wallMs, report);
}

function checkWaits(steps: readonly Step[], wallMs: number, report: (step: Step, problem: Reported) => void): void {
  for (const step of steps) {
    if (step.kind === 'wait' && step.for !== undefined && step.for > wallMs) {
      const message = `The step waits ${describeDuration(step.for)}; a run takes at most ${describeDuration(wallMs)}.`;
      report(step, { code: 'WAIT_TOO_LONG', message, fix: 'Raise `limits.wall`.' });
    }
    for (const group of groupsIn(step)) checkWaits(group.steps, wallMs, report);
  }
}
