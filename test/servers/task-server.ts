import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { json } from 'node:stream/consumers';
import type { JsonObject } from '../../src/core/call.ts';
import { isObject } from '../../src/core/json.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND } from '../../src/wire/mcp.ts';
import { type HttpServer, listen } from './http-servers.ts';

export const TASKS = 'io.modelcontextprotocol/tasks';

/** The work of a tool in its task. `requestInput` waits for input responses; `signal` cancels it. */
type Work = (
  input: JsonObject,
  task: { readonly requestInput: RequestInput; readonly signal: AbortSignal },
) => Promise<JsonObject>;
type RequestInput = (messages: Readonly<Record<string, string>>) => Promise<JsonObject>;

interface Task {
  fields: JsonObject;
  end?: JsonObject;
  inputRequests: Record<string, JsonObject>;
  inputResponses: Record<string, unknown>;
  resume: () => void;
  readonly controller: AbortController;
}

export interface TaskServerCore {
  /** The method and params of every request, in order. */
  readonly requests: (readonly [method: string, params: JsonObject])[];
  /** Returns the number of requests of a method. */
  count(method: string): number;
  answer(method: string, params: JsonObject): JsonObject;
}

const text = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });
const forever = (signal: AbortSignal) => new Promise<never>((_, reject) => signal.addEventListener('abort', reject));
const pause = (ms: unknown) => new Promise((resolve) => setTimeout(resolve, Number(ms)));
const FORM = { type: 'object', properties: { name: { type: 'string' } } };

const WORK: Readonly<Record<string, Work>> = {
  slow: async ({ ms = 0, label = 'done' }) => {
    await pause(ms);
    return text(label);
  },
  complains: async () => ({ ...text('no luck'), isError: true }),
  breaks: async () => {
    throw new RpcError(-32099, 'It broke.', { part: 'left' });
  },
  asks: async (_input, { requestInput }) => text(await requestInput({ who: 'Who?' })),
  asks_twice: async (_input, { requestInput }) =>
    text([await requestInput({ first: 'First?' }), await requestInput({ second: 'Second?' })]),
  asks_both: async (_input, { requestInput }) => text(await requestInput({ left: 'Left?', right: 'Right?' })),
  endless: (_input, { signal }) => forever(signal),
  /** Exits the process. Use it only over stdio. */
  dies: async () => {
    await pause(50);
    process.exit(1);
  },
};

function startTask(work: Work, input: JsonObject): Task {
  const createdAt = new Date().toISOString();
  const fields = { status: 'working', createdAt, lastUpdatedAt: createdAt, ttlMs: 60_000, pollIntervalMs: 10 };
  const task: Task = { fields, inputRequests: {}, inputResponses: {}, resume() {}, controller: new AbortController() };
  const touch = (status: string) => {
    task.fields = { ...task.fields, status, lastUpdatedAt: new Date().toISOString() };
  };
  const requestInput: RequestInput = async (messages) => {
    for (const [key, message] of Object.entries(messages)) {
      task.inputRequests[key] = {
        method: 'elicitation/create',
        params: { mode: 'form', message, requestedSchema: FORM },
      };
    }
    touch('input_required');
    await new Promise<void>((resolve) => (task.resume = resolve));
    touch('working');
    return Object.fromEntries(Object.keys(messages).map((key) => [key, task.inputResponses[key]])) as JsonObject;
  };
  const finish = (status: string, end: JsonObject) => {
    if (task.end) return;
    task.end = end;
    touch(status);
  };
  task.controller.signal.addEventListener('abort', () => finish('cancelled', {}));
  work(input, { requestInput, signal: task.controller.signal }).then(
    (result) => finish('completed', { result }),
    (thrown) => thrown instanceof RpcError && finish('failed', { error: thrown.toError() }),
  );
  return task;
}

/** Creates a modern server without an SDK whose tools run as tasks. `odd` changes its results. */
export function taskServerCore(odd: (value: JsonObject) => JsonObject = (value) => value): TaskServerCore {
  const requests: (readonly [string, JsonObject])[] = [];
  const tasks = new Map<string, Task>();

  function begin(name: string, input: JsonObject): JsonObject {
    const taskId = randomUUID();
    const task = startTask(WORK[name] as Work, input);
    tasks.set(taskId, task);
    return { resultType: 'task', taskId, ...task.fields };
  }

  function taskOf({ taskId }: JsonObject): Task {
    const task = tasks.get(String(taskId));
    if (!task) throw new RpcError(INVALID_PARAMS, 'Task not found');
    return task;
  }

  function call({ name, arguments: input, _meta }: JsonObject): JsonObject {
    const meta = isObject(_meta) ? _meta : {};
    const { extensions } = meta['io.modelcontextprotocol/clientCapabilities'] as { extensions?: JsonObject };
    if (name === 'greet') return { resultType: 'complete', ...text('hello') };
    if (!extensions?.[TASKS]) {
      throw new RpcError(-32021, 'Tasks only.', { requiredCapabilities: { extensions: { [TASKS]: {} } } });
    }
    return begin(String(name), (input ?? {}) as JsonObject);
  }

  const methods: Record<string, (params: JsonObject) => JsonObject> = {
    'server/discover': () => ({
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, extensions: { [TASKS]: {} } },
    }),
    'tools/list': () => ({
      tools: ['greet', ...Object.keys(WORK)].map((name) => ({ name, inputSchema: { type: 'object' } })),
    }),
    'tools/call': call,
    'tasks/get': (params) => {
      const { fields, inputRequests, end } = taskOf(params);
      const open = fields.status === 'input_required' && { inputRequests };
      return { taskId: String(params.taskId), ...fields, ...open, ...end };
    },
    'tasks/update': (params) => {
      const task = taskOf(params);
      for (const [key, answer] of Object.entries(params.inputResponses as JsonObject)) {
        if (!task.inputRequests[key]) continue;
        delete task.inputRequests[key];
        task.inputResponses[key] = answer;
      }
      if (Object.keys(task.inputRequests).length === 0) task.resume();
      return {};
    },
    'tasks/cancel': (params) => {
      taskOf(params).controller.abort();
      return {};
    },
  };

  return {
    requests,
    count: (method) => requests.filter(([one]) => one === method).length,
    answer(method, params) {
      requests.push([method, params]);
      const handle = methods[method];
      if (!handle) throw new RpcError(METHOD_NOT_FOUND, `${method} is not supported.`);
      return odd({ resultType: 'complete', ...handle(params) });
    },
  };
}

const respond = ({ answer }: TaskServerCore, { id, method, params }: JsonObject): JsonObject => {
  try {
    return { jsonrpc: '2.0', id: id ?? null, result: answer(String(method), (params ?? {}) as JsonObject) };
  } catch (thrown) {
    return { jsonrpc: '2.0', id: id ?? null, error: RpcError.fromError(thrown).toError() };
  }
};

/** Serves the task server over HTTP. */
export async function taskServer(
  odd?: (value: JsonObject) => JsonObject,
): Promise<Pick<HttpServer, 'url' | 'close'> & TaskServerCore> {
  const core = taskServerCore(odd);
  const { url, close } = await listen(async (request, response) => {
    const message = (await json(request)) as JsonObject;
    if (message.id === undefined) return void response.writeHead(202).end();
    const body = JSON.stringify(respond(core, message));
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  });
  return { url, close, ...core };
}

if (import.meta.main) {
  const core = taskServerCore();
  createInterface({ input: process.stdin }).on('line', (line) => {
    const message = JSON.parse(line) as JsonObject;
    if (message.id !== undefined) process.stdout.write(`${JSON.stringify(respond(core, message))}\n`);
  });
}
