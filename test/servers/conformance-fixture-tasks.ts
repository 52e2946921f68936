// Tasks of the 2026-07-28 extension: the tools that make them, and what becomes of them.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { JsonObject } from '../../src/core/call.ts';
import { isObject } from '../../src/core/json.ts';
import {
  type Answers,
  Failure,
  form,
  INVALID_PARAMS,
  type Offer,
  type Question,
  type Round,
  STRING,
  said,
  textOf,
  tool,
} from './conformance-fixture.ts';

const AGREE = { confirm: { type: 'boolean' } };
const NAME = { name: STRING };
const MAX_MS = 120_000;

export const TASK_TOOLS: readonly Offer[] = [
  tool('greet', 'Greets.', { name: STRING }, ({ name }) => said(`Hello, ${textOf(name)}!`)),
  tool(
    'slow_compute',
    'Takes its time.',
    { seconds: { type: 'number' }, label: STRING },
    async ({ seconds, label }, round) =>
      round.inTask(async ({ signal }) => {
        await pause(Math.min(Number(seconds) * 1000, MAX_MS), undefined, { signal, ref: false });
        return said(`${textOf(label)} is done.`);
      }),
  ),
  tool('failing_job', 'Fails after a while.', {}, async (_input, round) =>
    round.inTask(
      async ({ signal }) => {
        await pause(1000, undefined, { signal });
        return { ...said('The job has failed.'), isError: true };
      },
      { required: true },
    ),
  ),
  tool('protocol_error_job', 'Breaks.', {}, async (_input, round) =>
    round.inTask(() => Promise.reject(new Failure(-32603, 'The job is broken.')), { required: true }),
  ),
  tool('confirm_delete', 'Asks before it deletes.', { filename: STRING }, async ({ filename }, round) =>
    round.inTask(
      async ({ ask }) => {
        const { confirm } = await ask({ confirm: form(`Delete ${textOf(filename)}?`, AGREE, ['confirm']) });
        return said(`The user says: ${textOf(confirm)}`);
      },
      { required: true },
    ),
  ),
  tool('multi_input', 'Asks for two names.', {}, async (_input, round) =>
    round.inTask(
      async ({ ask }) => said(textOf(await ask({ first: form('First?', NAME), second: form('Second?', NAME) }))),
      { required: true },
    ),
  ),
  tool('test_tool_with_task', 'Asks, then works.', {}, async (_input, round) => {
    const { user_name } = await round.ask({ user_name: form('Who are you?', NAME, ['name']) });
    return round.inTask(async () => said(`Done for ${textOf(user_name?.content)}.`), { required: true });
  }),
];

type Status = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

interface Task {
  readonly id: string;
  readonly createdAt: string;
  readonly stop: AbortController;
  status: Status;
  lastUpdatedAt: string;
  /** What there is to say beside the status: the result, the error or the questions. */
  detail: JsonObject;
  answer: (answers: JsonObject) => void;
}

export interface Tasks {
  create(round: Round, work: (round: Round) => Promise<JsonObject>): JsonObject;
  readonly methods: Readonly<Record<string, (params: JsonObject) => JsonObject>>;
}

/** Everything that was begun and not finished within its call. */
export function tasks(): Tasks {
  const known = new Map<string, Task>();
  const find = ({ taskId }: JsonObject) => {
    const task = known.get(String(taskId));
    if (!task) throw new Failure(INVALID_PARAMS, `There is no task ${textOf(taskId)}.`);
    return task;
  };
  return {
    create(round, work) {
      const task = newTask();
      known.set(task.id, task);
      const inside: Round = {
        ...round,
        signal: task.stop.signal,
        ask: (questions) => ask(task, questions),
        inTask: (more) => more(inside),
      };
      void run(task, () => work(inside));
      return { resultType: 'task', ...described(task) };
    },
    methods: {
      'tasks/get': (params) => {
        const task = find(params);
        return { ...described(task), ...task.detail };
      },
      'tasks/update': (params) => {
        const { inputResponses } = params;
        find(params).answer(isObject(inputResponses) ? inputResponses : {});
        return {};
      },
      'tasks/cancel': (params) => {
        const task = find(params);
        if (!isOver(task)) become(task, 'cancelled');
        task.stop.abort();
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
    stop: new AbortController(),
    status: 'working',
    lastUpdatedAt: now,
    detail: {},
    answer: () => {},
  };
}

function described({ id, status, createdAt, lastUpdatedAt }: Task): JsonObject {
  return { taskId: id, status, createdAt, lastUpdatedAt, ttlMs: 300_000, pollIntervalMs: 100 };
}

const isOver = ({ status }: Task) => status === 'completed' || status === 'failed' || status === 'cancelled';

function become(task: Task, status: Status, detail: JsonObject = {}): void {
  if (isOver(task)) return;
  task.status = status;
  task.detail = detail;
  task.lastUpdatedAt = new Date().toISOString();
}

async function run(task: Task, work: () => Promise<JsonObject>): Promise<void> {
  try {
    become(task, 'completed', { result: await work() });
  } catch (thrown) {
    const { code = -32603, message = 'It has failed.' } = thrown as Partial<Failure>;
    become(task, 'failed', { error: { code: Number(code) || -32603, message } });
  }
}

/** Waits until every question has its answer; those that have are no longer asked. */
function ask(task: Task, questions: Readonly<Record<string, Question>>): Promise<Answers> {
  const given: Record<string, JsonObject> = {};
  return new Promise((resolve) => {
    const inputRequests = () =>
      Object.fromEntries(Object.entries(questions).filter(([key]) => given[key] === undefined)) as never as JsonObject;
    become(task, 'input_required', { inputRequests: inputRequests() });
    task.answer = (answers) => {
      for (const key of Object.keys(inputRequests())) {
        const answer = answers[key];
        if (isObject(answer)) given[key] = answer;
      }
      const left = inputRequests();
      if (Object.keys(left).length > 0) return become(task, 'input_required', { inputRequests: left });
      task.answer = () => {};
      become(task, 'working');
      resolve(given);
    };
  });
}
