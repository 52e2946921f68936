import type { JsonObject } from '../../src/core/call.ts';
import { type GatewayUnderTest, modern } from '../../src/gateway/fixtures.ts';
import { until } from '../until.ts';
import { TASKS } from './task-server.ts';

export const KNOWS = { elicitation: {}, extensions: { [TASKS]: {} } };

/** A modern client that knows tasks, unless said. */
export function taskClient(
  { post }: Pick<GatewayUnderTest, 'post'>,
  capabilities: JsonObject = KNOWS,
  more: Readonly<Record<string, string>> = {},
) {
  const ask = async (method: string, params: JsonObject, headers: Readonly<Record<string, string>> = {}) => {
    const [message, usual] = modern(method, params);
    const sent = message.params as { _meta: JsonObject };
    const _meta = { ...sent._meta, 'io.modelcontextprotocol/clientCapabilities': capabilities };
    const named = typeof params.taskId === 'string' ? { 'mcp-name': params.taskId } : {};
    const all = { ...usual, ...named, ...more, ...headers };
    const { json, status } = await post({ ...message, params: { ...sent, _meta } }, all);
    return { status, result: json.result as JsonObject, error: json.error as JsonObject };
  };
  const call = (tool: string, input: JsonObject = {}, rest: JsonObject = {}) =>
    ask('tools/call', { name: `mcp__demo__${tool}`, arguments: input, ...rest });
  const get = async (taskId: unknown) => (await ask('tasks/get', { taskId: taskId as string })).result;
  /** Asks until it is so. */
  const stands = async (taskId: unknown, status: string) => {
    let last: JsonObject = {};
    await until(`it is ${status}`, async () => {
      last = await get(taskId);
      return last.status === status;
    });
    return last;
  };
  return { ask, call, get, stands };
}
