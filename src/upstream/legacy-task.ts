import { MAX_TASK_MS } from '../core/call/task.ts';
import type { JsonObject, ResolvedCall } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { META } from '../wire/mcp.ts';
import type { Peer } from '../wire/peer.ts';
import { requestOf, requestOptionsOf } from './call-request.ts';

/** What a server of 2025-11-25 does by itself. Its result is another request, which stays open until it is done. */
export interface LegacyTask {
  readonly taskId: string;
  /** The request that began it: its token is used for progress until the task is done. */
  readonly begunBy: number;
}

const CANCEL_MS = 5000;

/** Whether a server has said that its tools can be called as tasks. */
export function takesTaskCalls({ tasks }: JsonObject): boolean {
  const requests = isObject(tasks) ? tasks.requests : undefined;
  const tools = isObject(requests) ? requests.tools : undefined;
  return isObject(tools) && isObject(tools.call);
}

/** Whether a tool says that it can be called in no other way. */
export function isOnlyTask({ kind, target }: ResolvedCall): boolean {
  const { execution } = target.definition;
  return kind === 'tool' && isObject(execution) && execution.taskSupport === 'required';
}

/**
 * Calls a tool as a task. Some servers answer at once all the same. Throws what the line threw; whoever leaves before
 * the task has a name has it cancelled as soon as it has one.
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

/** Tells the server that nobody waits any more. Whether it stops is its own business. */
export async function cancelTask(peer: Peer, { taskId }: Pick<LegacyTask, 'taskId'>): Promise<void> {
  await peer.request('tasks/cancel', { taskId }, { deadlineMs: CANCEL_MS }).catch(() => {});
}

/** The task that a question of the server belongs to, when it says so. */
export function relatedTask({ _meta }: JsonObject): unknown {
  const related = isObject(_meta) ? _meta[META.relatedTask] : undefined;
  return isObject(related) ? related.taskId : undefined;
}

/** A result without the name of the task it is of, which only we know. */
export function withoutTask(value: JsonObject): JsonObject {
  if (relatedTask(value) === undefined) return value;
  const { _meta, ...rest } = value;
  const { [META.relatedTask]: _, ...meta } = _meta as JsonObject;
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}
