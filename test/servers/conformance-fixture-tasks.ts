// Tasks of the 2026-07-28 extension: the tools that create them, and their store.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { JsonObject } from '../../src/core/call.ts';
import { isObject } from '../../src/core/json.ts';
import {
  type Entry,
  Failure,
  form,
  INVALID_PARAMS,
  type InputRequest,
  type InputResponses,
  STRING,
  type ToolContext,
  textOf,
  textResult,
  tool,
} from './conformance-fixture.ts';

const AGREE = { confirm: { type: 'boolean' } };
const NAME = { name: STRING };
const MAX_MS = 120_000;

export const TASK_TOOLS: readonly Entry[] = [
  tool('greet', 'Greets.', { name: STRING }, ({ name }) => textResult(`Hello, ${textOf(name)}!`)),
  tool(
    'slow_compute',
    'Takes the given seconds.',
    { seconds: { type: 'number' }, label: STRING },
    async ({ seconds, label }, context) =>
      context.inTask(async ({ signal }) => {
        await pause(Math.min(Number(seconds) * 1000, MAX_MS), undefined, { signal, ref: false });
        return textResult(`${textOf(label)} is done.`);
      }),
  ),
  tool('failing_job', 'Fails after a while.', {}, async (_input, context) =>
    context.inTask(
      async ({ signal }) => {
        await pause(1000, undefined, { signal });
        return { ...textResult('The job has failed.'), isError: true };
      },
      { required: true },
    ),
  ),
  tool('protocol_error_job', 'Breaks.', {}, async (_input, context) =>
    context.inTask(() => Promise.reject(new Failure(-32603, 'The job is broken.')), { required: true }),
  ),
  tool('confirm_delete', 'Asks before it deletes.', { filename: STRING }, async ({ filename }, context) =>
    context.inTask(
      async ({ requestInput }) => {
        const { confirm } = await requestInput({ confirm: form(`Delete ${textOf(filename)}?`, AGREE, ['confirm']) });
        return textResult(`The user says: ${textOf(confirm)}`);
      },
      { required: true },
    ),
  ),
  tool('multi_input', 'Asks for two names.', {}, async (_input, context) =>
    context.inTask(
      async ({ requestInput }) =>
        textResult(textOf(await requestInput({ first: form('First?', NAME), second: form('Second?', NAME) }))),
      { required: true },
    ),
  ),
  tool('test_tool_with_task', 'Asks, then works.', {}, async (_input, context) => {
    const { user_name } = await context.requestInput({ user_name: form('Who are you?', NAME, ['name']) });
    return context.inTask(async () => textResult(`Done for ${textOf(user_name?.content)}.`), { required: true });
  }),
];

type Status = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

interface Task {
  readonly id: string;
  readonly createdAt: string;
  readonly controller: AbortController;
  status: Status;
  lastUpdatedAt: string;
  /** The result, the error or the input requests, by status. */
  detail: JsonObject;
  respond: (responses: JsonObject) => void;
}

export interface TaskStore {
  create(context: ToolContext, work: (context: ToolContext) => Promise<JsonObject>): JsonObject;
  readonly methods: Readonly<Record<string, (params: JsonObject) => JsonObject>>;
}

/** Creates the store of tasks that outlive their call. */
export function createTaskStore(): TaskStore {
  const known = new Map<string, Task>();
  const find = ({ taskId }: JsonObject) => {
    const task = known.get(String(taskId));
    if (!task) throw new Failure(INVALID_PARAMS, `There is no task ${textOf(taskId)}.`);
    return task;
  };
  return {
    create(context, work) {
      const task = newTask();
      known.set(task.id, task);
      const taskContext: ToolContext = {
        ...context,
        signal: task.controller.signal,
        requestInput: (inputs) => requestInput(task, inputs),
        inTask: (more) => more(taskContext),
      };
      void run(task, () => work(taskContext));
      return { resultType: 'task', ...toTaskFields(task) };
    },
    methods: {
      'tasks/get': (params) => {
        const task = find(params);
        return { ...toTaskFields(task), ...task.detail };
      },
      'tasks/update': (params) => {
        const { inputResponses } = params;
        find(params).respond(isObject(inputResponses) ? inputResponses : {});
        return {};
      },
      'tasks/cancel': (params) => {
        const task = find(params);
        if (!isEnded(task)) setStatus(task, 'cancelled');
        task.controller.abort();
        return {};
      },
    },
  };
}

function newTask(): Task {
  const now = new Date().toISOString();
  return {
    id: randomUUID(),
    createdAt: now,
    controller: new AbortController(),
    status: 'working',
    lastUpdatedAt: now,
    detail: {},
    respond: () => {},
  };
}

function toTaskFields({ id, status, createdAt, lastUpdatedAt }: Task): JsonObject {
  return { taskId: id, status, createdAt, lastUpdatedAt, ttlMs: 300_000, pollIntervalMs: 100 };
}

const isEnded = ({ status }: Task) => status === 'completed' || status === 'failed' || status === 'cancelled';

function setStatus(task: Task, status: Status, detail: JsonObject = {}): void {
  if (isEnded(task)) return;
  task.status = status;
  task.detail = detail;
  task.lastUpdatedAt = new Date().toISOString();
}

async function run(task: Task, work: () => Promise<JsonObject>): Promise<void> {
  try {
    setStatus(task, 'completed', { result: await work() });
  } catch (thrown) {
    const { code = -32603, message = 'The task failed.' } = thrown as Partial<Failure>;
    setStatus(task, 'failed', { error: { code: Number(code) || -32603, message } });
  }
}

/** Waits for a response to every input request. `tasks/get` lists only the open ones. */
function requestInput(task: Task, inputs: Readonly<Record<string, InputRequest>>): Promise<InputResponses> {
  const received: Record<string, JsonObject> = {};
  return new Promise((resolve) => {
    const inputRequests = () =>
      Object.fromEntries(Object.entries(inputs).filter(([key]) => received[key] === undefined)) as never as JsonObject;
    setStatus(task, 'input_required', { inputRequests: inputRequests() });
    task.respond = (responses) => {
      for (const key of Object.keys(inputRequests())) {
        const response = responses[key];
        if (isObject(response)) received[key] = response;
      }
      const left = inputRequests();
      if (Object.keys(left).length > 0) return setStatus(task, 'input_required', { inputRequests: left });
      task.respond = () => {};
      setStatus(task, 'working');
      resolve(received);
    };
  });
}
