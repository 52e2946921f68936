import type { Problem } from '../../config/config.ts';
import type { WorkflowSummary } from '../../core/records/workflow.ts';
import type { Input } from '../command.ts';
import { localCaller } from '../local-caller.ts';
import { catalogOptions } from '../print/missing-servers.ts';
import { type PrintedColumn, printColumns } from '../print/print-columns.ts';
import { printJson } from '../print/print-json.ts';
import { notice } from '../print/print-line.ts';
import { printFileProblems } from '../print/print-problems.ts';
import { printWorkflowProblems, shortPath } from '../runs/print-workflow.ts';
import { withRunningHeddle } from '../with-heddle.ts';

const COLUMNS: readonly PrintedColumn<WorkflowSummary>[] = [
  { title: 'WORKFLOW', of: ({ name }) => name },
  { title: 'STEPS', of: ({ steps }) => String(steps), right: true },
  { title: 'RISK', of: ({ facts }) => (facts.readOnly ? 'read-only' : facts.riskLevel) },
  { title: 'FILE', of: ({ file }) => (file === undefined ? '' : shortPath(file)), optional: true },
  { title: 'DESCRIPTION', of: ({ description = '' }) => description, optional: true },
];

/** Runs `heddle list workflows`. Problems of a workflow are printed to stderr. */
export function listWorkflows(input: Input): Promise<number> {
  const by = localCaller();
  let leftOut = false;
  const onProblems = (problems: readonly Problem[]) => {
    leftOut = problems.some(({ workflow }) => workflow !== undefined);
    printFileProblems(problems);
  };
  return withRunningHeddle(input, { ...catalogOptions(input), onProblems }, async (heddle) => {
    const found = await heddle.workflows.list(by);
    if (input.flag('json')) printJson(found);
    else if (found.length > 0) printColumns(COLUMNS, found);
    else if (!leftOut)
      notice('There is no workflow. Put one in .heddle/workflows/<name>.yaml, or run a file: `heddle run flow.yaml`.');
    for (const { problems, name } of found) printWorkflowProblems(problems, name, process.stderr);
    return 0;
  });
}
