import { relative } from 'node:path';
import colors from 'picocolors';
import type { DryRun, LintReport, PlannedStep, RunEstimate, WorkflowProblem } from '../../core/records/workflow.ts';
import { counted } from '../../core/text/counted.ts';
import { cutText } from '../../core/text/cut-text.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import { printColumns } from '../print/print-columns.ts';
import { print, printStatement } from '../print/print-line.ts';

const MAX_INPUT_CHARS = 80;
const LATER = 'known only when the run reaches it';

/** Prints problems as `file:line:column: error CODE: message` with their fixes. */
export function printWorkflowProblems(
  problems: readonly WorkflowProblem[],
  name: string,
  stream: NodeJS.WriteStream,
): void {
  for (const { level, code, message, fix, path, at } of problems) {
    const where = at ? `${at.file === undefined ? name : shortPath(at.file)}:${at.line}:${at.column}` : name;
    const word = level === 'error' ? colors.red('error') : colors.yellow('warning');
    const step = path === undefined ? '' : `${oneLine(path)}: `;
    printStatement({ start: `${oneLine(where)}: ${word} ${oneLine(code)}: ${step}`, message, fix }, stream);
  }
}

/** Returns a path relative to the working folder, if the file is inside of it. */
export function shortPath(file: string): string {
  const short = relative(process.cwd(), file);
  return short === '' || short.startsWith('..') ? file : short;
}

/** Prints the findings about one workflow, and the estimates of a run. `subject` is the name or the file that was given. */
export function printLint({ name, problems, estimate }: LintReport, subject = name): void {
  printWorkflowProblems(problems, subject, process.stdout);
  const errors = problems.filter(({ level }) => level === 'error').length;
  const warnings = problems.length - errors;
  const found = problems.length === 0 ? 'no problem' : `${counted(errors, 'error')}, ${counted(warnings, 'warning')}`;
  // A workflow that cannot be read has no estimate.
  const hasEstimate = errors === 0 || estimate.maxCalls !== 0;
  print(`${oneLine(subject)}: ${found}${hasEstimate ? `; ${estimateText(estimate)}` : ''}`);
}

/** Formats an estimate: `a run makes 3 to 25 calls, cost 0.1 to 0.4`. */
export function estimateText({ minCalls, maxCalls, minCost, maxCost }: RunEstimate): string {
  const calls = `a run makes ${range(minCalls, maxCalls)} ${maxCalls === 1 ? 'call' : 'calls'}`;
  return minCost === undefined && maxCost === undefined ? calls : `${calls}, cost ${range(minCost ?? 0, maxCost)}`;
}

const range = (min: number, max: number | undefined): string =>
  max === undefined ? `${min} or more` : max === min ? String(min) : `${min} to ${max}`;

/** Formats the known part of an input, and names the fields that are known later. */
function inputText({ input, later }: PlannedStep): string {
  if (!input) return '';
  const known = cutText(JSON.stringify(input), MAX_INPUT_CHARS);
  if (!later) return known;
  if (later.length === 0) return LATER;
  const fields = cutText(later.join(', '), MAX_INPUT_CHARS);
  return Object.keys(input).length === 0 ? `${fields}: ${LATER}` : `${known}; ${fields}: ${LATER}`;
}

/** Prints the plan of a run: each step with its tool, the decision about it and its input as far as it is known. */
export function printPlan({ workflow, digest, steps, approvals, problems, estimate }: DryRun): void {
  printColumns<PlannedStep>(
    [
      { title: 'STEP', of: ({ path }) => path },
      { title: 'KIND', of: ({ kind }) => kind },
      { title: 'TOOL', of: ({ tool = '' }) => tool, optional: true },
      { title: 'PERMISSION', of: ({ effect = '' }) => effect, optional: true },
      { title: 'RULE', of: ({ rule = '' }) => rule, optional: true },
      { title: 'PROBLEM', of: ({ problem = '' }) => problem, optional: true },
      { title: 'INPUT', of: inputText },
    ],
    steps,
  );
  const needed = approvals.length === 0 ? 'no step needs an approval' : `approvals needed: ${approvals.join(', ')}`;
  print(`${workflow} (${digest.slice(0, 12)}): ${estimateText(estimate)}; ${needed}. No tool was called.`);
  printWorkflowProblems(problems, workflow, process.stdout);
}
