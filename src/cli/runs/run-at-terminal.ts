import type { Caller, JsonObject } from '../../core/call.ts';
import { ERRORS } from '../../core/error-codes.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { withPlainNumbers } from '../../core/exact-numbers.ts';
import type { Run, RunOptions, RunResult } from '../../core/records/run.ts';
import type { RunInputRequest, WorkflowChoice } from '../../core/records/workflow-api.ts';
import { decideAtTerminal } from '../approvals/decide-at-terminal.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import { printJson } from '../print/print-json.ts';
import { notice } from '../print/print-line.ts';
import { printText } from '../print/print-result.ts';
import { followRun } from './follow-run.ts';
import { watchInterrupts } from './interrupt-run.ts';
import { endedError, gatewayLost, inDoubt, stillWaiting } from './run-errors.ts';
import { runsCommand } from './runs-command.ts';
import { type RunProgress, showRunProgress } from './show-progress.ts';

/** The command that starts or follows a run. */
export interface RunSite {
  readonly heddle: Pick<CommandHeddle, 'runs' | 'approvals'>;
  readonly by: Caller;
  readonly json: boolean;
  /** The user has agreed beforehand to the call of the workflow and to its steps, with `--yes`. */
  readonly yes?: boolean;
  /** The time to wait for an approver elsewhere; undefined to ask the user here. */
  readonly waitMs?: number | undefined;
  /** The command has just requested the cancellation of the run. */
  readonly isCancelling?: boolean;
}

/** A run to start. */
export interface RunToStart {
  readonly workflow: WorkflowChoice;
  readonly input: JsonObject;
  readonly options: RunOptions;
  /** Ends the wait for the start. */
  readonly signal: AbortSignal;
}

/** Starts a run. Asks the user at the terminal if the call of the workflow needs an approval. */
export function startAtTerminal(site: RunSite, run: RunToStart, progress?: RunProgress): Promise<Run> {
  const { heddle, by, json, yes, waitMs } = site;
  const { runs, approvals } = heddle;
  const name = typeof run.workflow === 'string' ? run.workflow : (run.workflow.file ?? 'the workflow');
  return runs.start(by, run.workflow, run.input, {
    ...run.options,
    signal: run.signal,
    ...(yes && { approved: 'self' as const }),
    ...(progress && { onInput: (request, signal) => askInput(request, progress, signal) }),
    async onApproval(approval, signal) {
      const { settleAtTerminal } = await import('../approvals/settle-at-terminal.ts');
      const call = { name, caller: by, signal };
      const isApproved = await settleAtTerminal(approval, { approvals, call, waitMs, mayAsk: !json });
      return isApproved ? { approved: 'self' } : {};
    },
  });
}

async function askInput({ server, inputRequests }: RunInputRequest, progress: RunProgress, signal: AbortSignal) {
  const { askAtTerminal } = await import('../input/ask-elicitation.ts');
  return progress.aside(() => askAtTerminal(withPlainNumbers(inputRequests), server, signal));
}

/** Runs a workflow and prints its output. Throws if the run does not succeed. */
export async function runWorkflow(site: RunSite, run: RunToStart): Promise<number> {
  const progress = showRunProgress(process.stderr);
  try {
    return await followToEnd(site, await startAtTerminal(site, run, progress), progress);
  } finally {
    progress.end();
  }
}

/** Follows a run to its end and prints its output. Throws if it does not succeed, or needs another person. */
export async function followToEnd(
  site: RunSite,
  run: Run,
  progress: RunProgress = showRunProgress(process.stderr),
): Promise<number> {
  const { id, workflow } = run;
  const { by, json, yes, waitMs } = site;
  const { runs, approvals } = site.heddle;
  const { aside } = progress;
  const interrupts = watchInterrupts({ id, by, runs, progress });
  try {
    const end = await followRun({
      ...{ id, by, runs, progress, isCancelling: site.isCancelling },
      signal: interrupts.left,
      decide: (approval, signal) =>
        decideAtTerminal(approval, { approvals, by, yes, waitMs, mayAsk: !json, aside }, signal),
    }).catch((thrown) => {
      if (HeddleError.from(thrown).code === 'CALL_CANCELLED') return { kind: 'left' } as const; // Ctrl-C at a prompt.
      throw thrown instanceof UpstreamError ? gatewayLost(run, thrown) : thrown;
    });
    if (end.kind === 'in-doubt') throw inDoubt(end.run, end.paths, run);
    if (end.kind === 'approval') throw stillWaiting(run, end.approval);
    if (end.kind === 'left') return leaveRun(run);
    printRunResult(end.result, json);
    if (end.result.success) return 0;
    throw endedError(end.result, workflow);
  } finally {
    interrupts.close();
  }
}

/** Says how to go on with a run that the user has left. Returns the exit code of an interrupt. */
function leaveRun(run: Run): number {
  notice(`You left the run ${run.id}, which has not ended.`);
  const [resume, cancel] = [runsCommand('resume', run), runsCommand('cancel', run)];
  notice(`\`${resume}\` goes on with it if no gateway of this project does, and \`${cancel}\` ends it.`);
  return ERRORS.CALL_CANCELLED.exit;
}

/** Prints the whole result as JSON, or the output: text as it is, any other value as JSON. */
function printRunResult({ success, output, ...rest }: RunResult, json: boolean): void {
  if (json) printJson({ success, output, ...rest });
  else if (success && typeof output === 'string') printText(output);
  else if (success) printJson(output);
}
