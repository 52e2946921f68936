import { MAX_TASK_MS } from '../core/call/task.ts';
import type { JsonObject, ResolvedCall } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { META } from '../wire/mcp.ts';
import type { Peer } from '../wire/peer.ts';
import { requestOf, requestOptionsOf } from './call-request.ts';

/** A task of a 2025-11-25 server. Its result comes by `tasks/result`, which stays open until the task is done. */
export interface LegacyTask {
  readonly taskId: string;
  /** The id of the request that began it: its progress token stays valid until the task is done. */
  readonly begunBy: number;
}

const CANCEL_MS = 5000;

/** Tests whether a server declares that its tools can be called as tasks. */
export function takesTaskCalls({ tasks }: JsonObject): boolean {
  const requests = isObject(tasks) ? tasks.requests : undefined;
  const tools = isObject(requests) ? requests.tools : undefined;
  return isObject(tools) && isObject(tools.call);
}

/** Tests whether a tool can be called only as a task. */
export function isOnlyTask({ kind, target }: ResolvedCall): boolean {
  const { execution } = target.definition;
  return kind === 'tool' && isObject(execution) && execution.taskSupport === 'required';
}

/**
 * Calls a tool as a task. Some servers return the result at once. If the caller leaves before the task id arrives, the
 * task is cancelled when it does.
 */
export async function beginTask(peer: Peer, call: ResolvedCall): Promise<LegacyTask | { readonly value: JsonObject }> {
  const { method, params } = requestOf(call);
  let begunBy = 0;
  const onId = (id: number) => (begunBy = id);
  const onLate = (value: JsonObject) => {
    const taskId = taskIdIn(value);
    if (taskId !== undefined) void cancelTask(peer, { taskId });
  };
  const ttl = Math.max(call.options.timeoutMs ?? 0, MAX_TASK_MS);
  const value = await peer.request(method, { ...params, task: { ttl } }, { ...requestOptionsOf(call), onId, onLate });
  const taskId = taskIdIn(value);
  return taskId === undefined ? { value } : { taskId, begunBy };
}

function taskIdIn({ task }: JsonObject): string | undefined {
  const taskId = isObject(task) ? task.taskId : undefined;
  return typeof taskId === 'string' ? taskId : undefined;
}

/** Sends `tasks/cancel` and ignores its failure: the server decides whether it stops. */
export async function cancelTask(peer: Peer, { taskId }: Pick<LegacyTask, 'taskId'>): Promise<void> {
  await peer.request('tasks/cancel', { taskId }, { deadlineMs: CANCEL_MS }).catch(() => {});
}

/** Returns the task id that a server request names in `_meta`. */
export function relatedTask({ _meta }: JsonObject): unknown {
  const related = isObject(_meta) ? _meta[META.relatedTask] : undefined;
  return isObject(related) ? related.taskId : undefined;
}

/** Removes the related-task key from a result: the client does not know that task. */
export function withoutTask(value: JsonObject): JsonObject {
  if (relatedTask(value) === undefined) return value;
  const { _meta, ...rest } = value;
  const { [META.relatedTask]: _, ...meta } = _meta as JsonObject;
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}
