import type { CommandMessage, CommandPrompt, CommandRoute } from '../../console/command-wire.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Run, RunOptions } from '../../core/records/run.ts';
import type { RunFollower, Runs, WorkflowChoice } from '../../core/records/workflow-api.ts';
import type { CommandHeddle } from '../command-heddle.ts';

export interface ReadRemoteOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with each line before the last. */
  readonly onMessage?: (line: CommandMessage) => void;
}

/** Sends a request of a command to the gateway and returns its result. */
export type ReadRemote = <T>(route: CommandRoute, body: object, options?: ReadRemoteOptions) => Promise<T>;

/** Returns the workflows of a running gateway. */
export const remoteWorkflows = (read: ReadRemote): CommandHeddle['workflows'] => ({
  list: () => read('workflows', {}),
  get: (_by, workflow) => read('workflow', { workflow }),
  lint: (_by, workflow, signal) => read('lint', { workflow }, { signal }),
  plan: (_by, workflow, input, signal) => read('plan', { workflow, input }, { signal }),
  toMermaid: (_by, workflow) => read('chart', { workflow }),
});

/** Returns the runs of a running gateway, which executes them. */
export const remoteRuns = (read: ReadRemote): Runs => ({
  start: (_by, workflow, input, options) => startRemote(read, { workflow, input, options }),
  list: (_by, query) => read('runs', query),
  get: (_by, id) => read('run', { run: id }),
  events: (_by, id, after) => read('events', { run: id, ...(after !== undefined && { after }) }),
  settled: (_by, id, signal) => read('ended', { run: id }, { signal }),
  cancel: (_by, id, reason) => read('cancel', { run: id, ...(reason !== undefined && { reason }) }),
  resume: (_by, id) => read('resume', { run: id }),
  retry: (_by, id, from) => read('retry', { run: id, from }),
  resolve: (_by, id, resolution) => read('resolve', { run: id, ...resolution }),
});

interface RemoteStart {
  readonly workflow: WorkflowChoice;
  readonly input: JsonObject;
  readonly options: RunOptions & RunFollower;
}

/** Starts a run in the gateway. The request stays open for its prompts until the run has ended or the command does. */
async function startRemote(read: ReadRemote, { workflow, input, options }: RemoteStart): Promise<Run> {
  const { onInput, onApproval, onEvent: _, signal, approved, ...limits } = options;
  const started = Promise.withResolvers<Run>();
  const starting = new AbortController();
  const cancel = () => starting.abort();
  signal?.addEventListener('abort', cancel, { once: true });
  if (signal?.aborted) cancel();
  const asks = onInput !== undefined || onApproval !== undefined;
  read<Run>(
    'start',
    { workflow, input, ...limits, ...(approved && { approved }), ...(asks && { asks }) },
    {
      signal: starting.signal,
      onMessage(line) {
        if (line.run) started.resolve(line.run);
        if (line.prompt) void respond(read, line.prompt, options).catch(started.reject);
      },
    },
  ).then(started.resolve, started.reject);
  try {
    return await started.promise;
  } catch (thrown) {
    starting.abort();
    throw thrown;
  } finally {
    // A run that was started goes on when the signal aborts.
    signal?.removeEventListener('abort', cancel);
  }
}

async function respond(read: ReadRemote, prompt: CommandPrompt, follower: RunFollower): Promise<void> {
  const { key, approval, inputRequest } = prompt;
  const never = new AbortController().signal;
  const response = approval
    ? await follower.onApproval?.(approval, follower.signal ?? never)
    : inputRequest && (await follower.onInput?.(inputRequest, never));
  await read('respond', { key, response: response ?? {} }).catch((thrown) => {
    // The run may have ended meanwhile.
    if (HeddleError.from(thrown).code !== 'NAME_UNKNOWN') throw thrown;
  });
}
