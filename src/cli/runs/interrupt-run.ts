import type { Caller } from '../../core/call.ts';
import type { Runs } from '../../core/records/workflow-api.ts';
import { notice } from '../print/print-line.ts';
import type { RunProgress } from './show-progress.ts';

export interface InterruptibleRun {
  readonly id: string;
  readonly by: Caller;
  readonly runs: Pick<Runs, 'cancel'>;
  readonly progress: RunProgress;
}

export interface RunInterrupts {
  /** Aborts when the user leaves the run. */
  readonly left: AbortSignal;
  /** Stops listening, and releases the terminal. */
  close(): void;
}

/**
 * Asks the user at the first Ctrl-C: cancel the run, or leave it. A second Ctrl-C leaves it. So does the first one
 * without a terminal, and SIGTERM and SIGHUP always.
 */
export function watchInterrupts(run: InterruptibleRun): RunInterrupts {
  const left = new AbortController();
  const leave = () => left.abort();
  let hasAsked = false;
  let stopAsking = () => {};
  const interrupt = () => {
    if (hasAsked) return leave();
    hasAsked = true;
    askToCancel(run, (stop) => (stopAsking = stop)).then((cancels) => !cancels && leave(), leave);
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', leave).on('SIGHUP', leave);
  return {
    left: left.signal,
    close() {
      process.off('SIGINT', interrupt);
      process.off('SIGTERM', leave).off('SIGHUP', leave);
      stopAsking();
    },
  };
}

/** Returns true if the user has chosen to cancel the run, which is then requested. */
async function askToCancel(
  { id, by, runs, progress }: InterruptibleRun,
  onOpen: (stop: () => void) => void,
): Promise<boolean> {
  const { canAsk, openConversation } = await import('../input/ask.ts');
  if (!canAsk()) return false;
  const answer = await progress.aside(async () => {
    const conversation = openConversation();
    onOpen(conversation.close);
    try {
      return await conversation.ask('Cancel the run, or leave it? [c]ancel, [L]eave:');
    } finally {
      conversation.close();
    }
  });
  if (!/^c(ancel)?$/i.test(answer.trim())) return false;
  await runs.cancel(by, id);
  notice(`Cancelling ${id}. Steps that have to be undone are undone first.`);
  return true;
}
