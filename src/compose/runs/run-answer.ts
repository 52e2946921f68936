import type { Json, JsonObject, ResolvedCall, Result, TaskContinuation } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { RunError } from '../../core/records/run.ts';
import type { StoredRun } from '../../store/run-journal.ts';
import { RUN_ERROR_META, WRAPPED_META } from '../../workflow/expressions/step-view.ts';

/** The `_meta` key with the id of the run that made a result. */
export const RUN_META = 'dev.heddle/run';

/** The time between polls of a client. The poll of a waiting front end of this process waits for the run itself. */
const CLIENT_POLL_MS = 1000;
const OWN_POLL_MS = 10;
const INVALID_PARAMS = -32602;

/** Returns the result of a run that goes on: its task. */
export const runWorking = (run: StoredRun, server: string): Extract<Result, { readonly kind: 'working' }> => ({
  kind: 'working',
  task: taskOf(run, 'working'),
  continuation: taskContinuation(run.id, server),
});

export const taskContinuation = (taskId: string, server: string): TaskContinuation => ({
  kind: 'task',
  server,
  taskId,
  pollMs: OWN_POLL_MS,
});

/** Returns the MCP task of a run. */
export function taskOf(run: StoredRun, status: 'working' | 'input_required' | 'completed' | 'cancelled'): JsonObject {
  const message = messageOf(run);
  return {
    status,
    ...(message !== undefined && { statusMessage: message }),
    createdAt: new Date(run.startedAt).toISOString(),
    lastUpdatedAt: new Date(run.endedAt ?? run.startedAt).toISOString(),
    ttlMs: null,
    pollIntervalMs: CLIENT_POLL_MS,
    _meta: { [RUN_META]: run.id },
  };
}

function messageOf({ status, id }: StoredRun): string | undefined {
  if (status === 'waiting') return `The run ${id} waits for a time, a person or another run.`;
  if (status === 'in_doubt') return `A person has to settle a call of the run ${id}: heddle runs show ${id}`;
  return undefined;
}

/** Returns the result of a run that has ended. Throws if it was cancelled, as for a cancelled task. */
export function runResult(run: StoredRun, output: Json, call: Pick<ResolvedCall, 'target'>): Result {
  const [server] = call.target.servers;
  if (run.status === 'cancelled') throw cancelledRun(run, server);
  const isError = run.status !== 'succeeded';
  const value = isError ? failure(run, run.error) : success(output);
  const isWrapped = !isError && !isObject(output);
  const latencyMs = (run.endedAt ?? run.startedAt) - run.startedAt;
  return {
    kind: 'complete',
    value: {
      ...value,
      _meta: {
        [RUN_META]: run.id,
        ...(isWrapped && { [WRAPPED_META]: true }),
        ...(run.error && { [RUN_ERROR_META]: { ...run.error } as JsonObject }),
      },
    },
    isError,
    provenance: { server, attempts: 1, latencyMs },
    task: taskOf(run, 'completed'),
  };
}

/** Adds to a result that an earlier call began the run, so that a model does not take an old result for a new one. */
export function ofEarlierCall(result: Result, { id, startedAt }: StoredRun): Result {
  if (result.kind !== 'complete') return result;
  const { content } = result.value;
  const began = new Date(startedAt).toISOString();
  const text = `An earlier call with the same arguments began this run ${id} at ${began}. The next one begins a new run.`;
  const note: JsonObject = { type: 'text', text };
  return { ...result, value: { ...result.value, content: [...(Array.isArray(content) ? content : []), note] } };
}

/** Structured content is an object in MCP, so any other output is wrapped. */
const success = (output: Json): JsonObject => ({
  content: [{ type: 'text', text: JSON.stringify(output) }],
  structuredContent: isObject(output) ? output : { result: output },
});

function failure({ id }: StoredRun, error: RunError | undefined): JsonObject {
  const { code = 'RUN_FAILED', message = 'The run failed.', fix, path } = error ?? {};
  const place = path ? ` at ${path}` : '';
  const text = `${code}${place}: ${message}${fix === undefined ? '' : ` ${fix}`} (run ${id})`;
  return { content: [{ type: 'text', text }], isError: true };
}

const cancelledRun = (run: StoredRun, server: string) =>
  new UpstreamError('UPSTREAM_REFUSED', `The run ${run.id} of ${run.workflow} was cancelled.`, {
    delivered: 'maybe',
    details: { server, run: run.id, task: taskOf(run, 'cancelled') },
  });

/** The error for a task id that is no run of this caller. It tells nothing about runs of others. */
export const unknownRunTask = (server: string) =>
  new UpstreamError('UPSTREAM_REFUSED', 'There is no such run.', {
    delivered: 'no',
    details: { server, rpc: { code: INVALID_PARAMS, message: 'There is no such run.' } },
  });
