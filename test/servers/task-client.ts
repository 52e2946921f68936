import type { JsonObject } from '../../src/core/call.ts';
import { type GatewayUnderTest, modern } from '../../src/gateway/fixtures.ts';
import { until } from '../until.ts';
import { TASKS } from './task-server.ts';

export const TASK_CAPABILITIES = { elicitation: {}, extensions: { [TASKS]: {} } };

/** Creates a modern client. By default it declares the tasks extension. */
export function taskClient(
  { post }: Pick<GatewayUnderTest, 'post'>,
  capabilities: JsonObject = TASK_CAPABILITIES,
  more: Readonly<Record<string, string>> = {},
) {
  const request = async (method: string, params: JsonObject, headers: Readonly<Record<string, string>> = {}) => {
    const [message, usual] = modern(method, params);
    const sent = message.params as { _meta: JsonObject };
    const _meta = { ...sent._meta, 'io.modelcontextprotocol/clientCapabilities': capabilities };
    const named = typeof params.taskId === 'string' ? { 'mcp-name': params.taskId } : {};
    const all = { ...usual, ...named, ...more, ...headers };
    const { json, status } = await post({ ...message, params: { ...sent, _meta } }, all);
    return { status, result: json.result as JsonObject, error: json.error as JsonObject };
  };
  const call = (tool: string, input: JsonObject = {}, rest: JsonObject = {}) =>
    request('tools/call', { name: `mcp__demo__${tool}`, arguments: input, ...rest });
  const get = async (taskId: unknown) => (await request('tasks/get', { taskId: taskId as string })).result;
  /** Polls `tasks/get` until the task has the status. */
  const waitForStatus = async (taskId: unknown, status: string) => {
    let last: JsonObject = {};
    await until(`the task is ${status}`, async () => {
      last = await get(taskId);
      return last.status === status;
    });
    return last;
  };
  return { request, call, get, waitForStatus };
}
