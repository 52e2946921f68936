import type { JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { TASKS } from '../core/task.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { META_KEY } from './asked.ts';
import { MISSING_CAPABILITY } from './error-answer.ts';

/** Whether a modern client says, in this very request, that it knows what a task is. */
export function knowsTasks(meta: unknown): boolean {
  const capabilities = isObject(meta) ? meta[META_KEY('clientCapabilities')] : undefined;
  const extensions = isObject(capabilities) ? capabilities.extensions : undefined;
  return isObject(extensions) && isObject(extensions[TASKS]);
}

/** Throws for a client that asks about tasks without having said that it knows them. */
export function requireTasks({ _meta }: JsonObject): void {
  if (knowsTasks(_meta)) return;
  throw new RpcError(MISSING_CAPABILITY, `Only clients that declare the extension ${TASKS} can ask about tasks.`, {
    requiredCapabilities: { extensions: { [TASKS]: {} } },
  });
}
