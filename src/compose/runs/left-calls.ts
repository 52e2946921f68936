import type { DecidedCall, ServerContinuation } from '../../core/call.ts';
import type { RunningParts } from '../running-parts.ts';
import { findLeftRun, hasTask } from './left-runs.ts';
import { runCallers } from './run-caller.ts';

/** Finds the run that an equal call of a workflow has left: to get its result needs no second approval. */
export async function leftCallOf(
  { store, active, origin }: Pick<RunningParts, 'store' | 'active' | 'origin'>,
  call: DecidedCall,
): Promise<ServerContinuation | undefined> {
  const [server] = call.target.servers;
  if (hasTask(call) || active().configs.get(server)?.scope !== 'builtin') return undefined;
  const { isOwn } = runCallers({ keys: store.keys, settings: () => active().config.settings });
  const run = await findLeftRun({ journal: store.runs, isOwn, origin: store.runQueue && origin }, call);
  return run && { kind: 'upstream', server, state: run.id };
}
