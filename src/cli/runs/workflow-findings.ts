import type { Caller } from '../../core/call.ts';
import type { Finding } from '../../core/records/finding.ts';
import type { Run } from '../../core/records/run.ts';
import type { WorkflowProblem, WorkflowSummary } from '../../core/records/workflow.ts';
import type { Runs, Workflows } from '../../core/records/workflow-api.ts';
import { shortPath } from './print-workflow.ts';
import { runsCommand } from './runs-command.ts';

const SUBJECT = 'workflows';

/** The part of Heddle that has workflows and runs. */
export interface WorkflowSite {
  readonly workflows: Pick<Workflows, 'list'>;
  readonly runs: Pick<Runs, 'list'>;
}

/** Returns what doctor says about workflows: their problems, stopped runs and runs in doubt. Nothing without workflows and runs. */
export async function workflowFindings({ workflows, runs }: WorkflowSite, by: Caller): Promise<readonly Finding[]> {
  const [all, open, doubts] = await Promise.all([
    workflows.list(by),
    runs.list(by, { status: 'open' }),
    runs.list(by, { status: 'in_doubt' }),
  ]);
  const stopped = open.filter((run) => run.stopped && run.status !== 'in_doubt');
  const problems = all.flatMap(({ name, problems }) => problems.map((problem) => problemFinding(name, problem)));
  return [
    ...(all.length > 0 ? [countFinding(all)] : []),
    ...problems,
    ...stopped.map(stoppedFinding),
    ...doubts.map(doubtFinding),
  ];
}

function countFinding(all: readonly WorkflowSummary[]): Finding {
  const names = all.map(({ name }) => name);
  const message = `${names.length === 1 ? 'There is' : `There are ${names.length}:`} ${names.join(', ')}.`;
  return { level: 'ok', subject: SUBJECT, message, facts: { names } };
}

function problemFinding(name: string, { level, code, message, fix, at }: WorkflowProblem): Finding {
  const where = at?.file === undefined ? '' : `${shortPath(at.file)}:${at.line}:${at.column}: `;
  return {
    level: level === 'error' ? 'error' : 'warn',
    subject: `workflow ${name}`,
    message: `${where}${code}: ${message}`,
    fix,
  };
}

const stoppedFinding = (run: Run): Finding => ({
  level: 'warn',
  subject: `run ${run.id}`,
  message: `This run of ${run.workflow} is ${run.status}, but no process executes it.`,
  fix: `Run \`${runsCommand('resume', run)}\` to go on with it, or \`${runsCommand('cancel', run)}\`${run.origin ? `, in ${run.origin.folder}` : ''}.`,
  facts: { run: run.id, workflow: run.workflow },
});

const doubtFinding = ({ id, workflow }: Run): Finding => ({
  level: 'warn',
  subject: `run ${id}`,
  message: `A call of this run of ${workflow} may have happened or not.`,
  fix: `Run \`heddle runs show ${id}\` to see the call and the commands that settle it.`,
  facts: { run: id, workflow },
});
