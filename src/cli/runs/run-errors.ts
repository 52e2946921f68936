import { HeddleError, type UpstreamError } from '../../core/errors.ts';
import type { Run, RunResult } from '../../core/records/run.ts';
import type { LintReport } from '../../core/records/workflow.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import { shortPath } from './print-workflow.ts';
import { runsCommand } from './runs-command.ts';

type OriginatedRun = Pick<Run, 'id' | 'origin'>;

/** Returns the error of a workflow in which lint finds errors; undefined without any. `word` is its name or file as given. */
export function lintError({ name, problems }: LintReport, word: string): HeddleError | undefined {
  const errors = problems.filter(({ level }) => level === 'error');
  const [first] = errors;
  if (!first) return undefined;
  const { code, message, fix, path, at } = first;
  const place = at ? `${at.file === undefined ? name : shortPath(at.file)}:${at.line}:${at.column}: ` : '';
  const step = path === undefined ? '' : `${path}: `;
  const more =
    errors.length > 1 ? ` \`${quoteCommand(['heddle', 'lint', word])}\` shows all ${errors.length} errors.` : '';
  return new HeddleError('WORKFLOW_INVALID', `${name} was not started. ${place}${code}: ${step}${message}${more}`, {
    fix,
    details: { problem: code, ...(path !== undefined && { step: path }) },
  });
}

/** Returns the error of a run that has not succeeded. */
export function endedError({ runId, status, error }: RunResult, workflow: string): HeddleError {
  const details = { run: runId, ...(error && { step: error.path, because: error.code }) };
  if (status === 'cancelled') {
    return new HeddleError('CALL_CANCELLED', `The run ${runId} of ${workflow} was cancelled.`, {
      fix: `Run \`heddle runs show ${runId}\` to see which steps had run.`,
      details,
    });
  }
  const at = error?.path === undefined ? '' : ` at ${error.path}`;
  const because = error ? `: ${error.code}: ${error.message}` : '.';
  const undone = status === 'compensation_failed' ? ' A compensation failed, too, so a step is not undone.' : '';
  return new HeddleError('RUN_FAILED', `The run ${runId} of ${workflow} failed${at}${because}${undone}`, {
    fix: error?.fix ?? `Run \`heddle runs show ${runId}\` to see its steps.`,
    details,
  });
}

/** Returns the error of a run with calls in doubt. `root` is the run that the command follows: this one, or one above it. */
export const inDoubt = (run: string, paths: readonly string[], root: OriginatedRun): HeddleError =>
  new HeddleError('RUN_IN_DOUBT', `The run ${run} is in doubt: it is not known whether ${paths.join(', ')} happened.`, {
    fix: `Run \`heddle runs show ${run}\` to see the call and the commands that settle it${root.id === run ? '' : `, then \`${runsCommand('resume', root)}\``}.`,
    details: { run, steps: [...paths] },
  });

export const stillWaiting = (run: OriginatedRun, approval: string): HeddleError =>
  new HeddleError('APPROVAL_PENDING', `The run ${run.id} waits for the approval ${approval}.`, {
    fix: `Run \`heddle approvals approve ${approval}\` in a terminal, or as an approver with --key, then \`${runsCommand('resume', run)}\`.`,
    details: { run: run.id, approval },
  });

/** Returns the error of a gateway that ended while it executed a run. Repeating the command would begin a second run. */
export const gatewayLost = (run: OriginatedRun, { code, message }: UpstreamError): HeddleError =>
  new HeddleError(code, `${message} The run ${run.id} has not ended.`, {
    fix: `Run \`${runsCommand('resume', run)}\` to go on with it here; the next gateway of this project does so, too.`,
    details: { run: run.id },
  });
