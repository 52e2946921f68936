import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { newCallId } from '../../src/core/call/call-id.ts';
import type { Call, Caller, JsonObject } from '../../src/core/call.ts';
import type { RunEvent } from '../../src/core/records/run.ts';
import type { WorkflowChoice } from '../../src/core/records/workflow-api.ts';
import type { Heddle } from '../../src/heddle.ts';
import { openStore } from '../../src/store/open-store.ts';
import { verifies } from '../requirements.ts';
import { recordingServer, text } from '../servers/recording-server.ts';
import { temporaryFolder, temporaryHeddle } from '../temporary-heddle.ts';
import { until } from '../until.ts';

const ada: Caller = { id: 'local:ada', roles: ['owner'], via: 'library' };
const never = () => new AbortController().signal;

const call = (name: string, input: JsonObject = {}, more: Partial<Call> = {}): Call => ({
  id: newCallId(),
  kind: 'tool',
  name,
  input,
  meta: {},
  caller: ada,
  options: {},
  signal: never(),
  ...more,
});

const READS: JsonObject = { annotations: { readOnlyHint: true } };

/** A server whose tools return their arguments. `fail` always fails. */
const echoServer = () =>
  recordingServer({ echo, write: echo, fail: () => ({ ...text('No.'), isError: true }) }, (name) =>
    name === 'echo' ? READS : {},
  );
const echo = (input: JsonObject) => text(JSON.stringify(input));

const GREET = {
  heddle: 1,
  name: 'greet',
  description: 'Greets.',
  input: { type: 'object', required: ['who'], properties: { who: { type: 'string' } } },
  steps: [
    { id: 'one', tool: 'demo.echo', input: { text: '${{ "Hello " + $input.who }}' } },
    { id: 'two', tool: 'demo.write', input: { said: '$one.result.text' } },
  ],
  output: { said: '$two.result.said' },
};

async function heddleWith(config: JsonObject = { mode: 'open' }) {
  const demo = echoServer();
  const heddle = await temporaryHeddle({ config, store: ':memory:', servers: { demo } });
  return { heddle, demo, calls: demo.calls };
}

const done = async (heddle: Heddle, workflow: WorkflowChoice, input: JsonObject, options = {}) =>
  heddle.runs.settled(ada, (await heddle.runs.start(ada, workflow, input, options)).id, never());

verifies('W6', 'registers a workflow at run time, runs it and returns its result', async () => {
  const { heddle, calls } = await heddleWith();
  const registered = await heddle.workflows.register(ada, { value: GREET });
  expect(registered).toMatchObject({ name: 'greet', steps: 2, facts: { readOnly: false } });
  const run = await heddle.runs.start(ada, 'greet', { who: 'Bo' }, {});
  const result = await heddle.runs.settled(ada, run.id, never());
  expect(result).toMatchObject({ success: true, status: 'succeeded', output: { said: 'Hello Bo' }, stepsExecuted: 2 });
  expect(calls.map(({ name }) => name)).toEqual(['echo', 'write']);
});

verifies('W4', 'a workflow is a tool, whose call begins a run and returns a task', async () => {
  const { heddle } = await heddleWith();
  await heddle.workflows.register(ada, { value: GREET });
  const { items } = await heddle.catalog.list(ada, { server: 'workflow' });
  expect(items.map(({ publicName }) => publicName)).toEqual(['mcp__workflow__greet']);
  const done = await heddle.dispatch(call('mcp__workflow__greet', { who: 'Bo' }));
  expect(done).toMatchObject({ kind: 'complete', isError: false, value: { structuredContent: { said: 'Hello Bo' } } });
  const begun = await heddle.dispatch(call('mcp__workflow__greet', { who: 'Al' }, { acceptsTask: true }));
  expect(begun).toMatchObject({ kind: 'working', task: { status: 'working' } });
  await expect(heddle.dispatch(call('mcp__workflow__greet', {}))).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});

const flow = (name: string, steps: JsonObject[], more: JsonObject = {}) => ({ heddle: 1, name, steps, ...more });
const callEcho = (id: string, input: JsonObject = {}) => ({ id, tool: 'demo.echo', input });

verifies('W6', 'runs a definition that is not registered, and leaves no tool behind', async () => {
  const { heddle } = await heddleWith();
  const source = { value: flow('once', [callEcho('a', { x: '$input.x' })]) };
  expect(await done(heddle, source, { x: 1 })).toMatchObject({ success: true, output: { x: 1 } });
  expect(await heddle.workflows.list(ada)).toEqual([]);
  expect((await heddle.catalog.list(ada, { server: 'workflow' })).items).toEqual([]);
  await heddle.workflows.register(ada, { value: flow('once', [callEcho('a', { x: 'known' })]) });
  expect(await done(heddle, source, { x: 2 })).toMatchObject({ output: { x: 2 } });
  expect(await done(heddle, 'once', {})).toMatchObject({ output: { x: 'known' } });
  const user = { id: 'eve', roles: ['user'], via: 'gateway' } as const;
  await expect(heddle.runs.start(user, source, {}, {})).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
});

verifies('W6', 'refuses to register an invalid, a known or a foreign workflow, each with its reason', async () => {
  const { heddle } = await heddleWith();
  const register = (value: JsonObject, by = ada) => heddle.workflows.register(by, { value });
  const invalid = await register(flow('bad', [{ id: 'a', tol: 'x' }])).catch((thrown) => thrown);
  expect(invalid).toMatchObject({ code: 'WORKFLOW_INVALID', message: expect.stringContaining('bad is invalid') });
  await register(flow('good', [callEcho('a')]));
  await expect(register(flow('good', [callEcho('b')]))).rejects.toMatchObject({ code: 'NAME_TAKEN' });
  const user = { id: 'eve', roles: ['user'], via: 'library' } as const;
  await expect(register(flow('other', [callEcho('a')]), user)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  await heddle.workflows.unregister(ada, 'good');
  const gone = { code: 'NAME_UNKNOWN' };
  await expect(heddle.workflows.unregister(ada, 'good')).rejects.toMatchObject(gone);
  await expect(heddle.runs.start(ada, 'good', {}, {})).rejects.toMatchObject(gone);
  await expect(heddle.workflows.get(ada, 'good')).rejects.toMatchObject(gone);
});

verifies('W6', 'names the tool that was meant, at the line of the unknown one', async () => {
  const { heddle } = await heddleWith();
  const text = 'heddle: 1\nname: typo\nsteps:\n  - id: a\n    tool: demo.ecko\n    input: {}\n';
  const { problems } = await heddle.workflows.lint(ada, { text, file: 'typo.yaml' }, never());
  expect(problems).toMatchObject([
    { code: 'TOOL_UNKNOWN', fix: 'Did you mean demo.echo?', at: { file: 'typo.yaml', line: 5, column: 11 } },
  ]);
});

verifies('W6', 'checks, plans and draws a workflow without a call', async () => {
  const { heddle, calls } = await heddleWith({ mode: 'open', permissions: { ask: ['mcp__demo__write'] } });
  const value = flow('plans', [
    callEcho('a', { x: '$input.x' }),
    { id: 'b', tool: 'demo.write', input: { y: '$a.result.x' } },
  ]);
  const plan = await heddle.workflows.plan(ada, { value }, { x: 1 }, never());
  expect(plan).toMatchObject({
    approvals: ['b'],
    estimate: { minCalls: 2, maxCalls: 2 },
    steps: [
      { path: 'a', tool: 'demo.echo', effect: 'allow', input: { x: 1 } },
      { path: 'b', tool: 'demo.write', effect: 'ask' },
    ],
  });
  const wrong = { value: flow('wrong', [{ id: 'a', tool: 'demo.ecko', input: {} }]) };
  const { problems } = await heddle.workflows.lint(ada, wrong, never());
  expect(problems).toMatchObject([{ code: 'TOOL_UNKNOWN' }]);
  expect(await heddle.workflows.toMermaid(ada, { value })).toContain('flowchart');
  expect(calls).toEqual([]);
});

verifies(
  'W4',
  'runs a workflow of a workflow by its definition at the start, and stops one that calls itself',
  async () => {
    const { heddle, demo } = await heddleWith();
    const gate = Promise.withResolvers<void>();
    await heddle.workflows.register(ada, { value: flow('inner', [callEcho('a', { v: 1 })]) });
    demo.change({ echo, write: async (input) => gate.promise.then(() => echo(input)) });
    const outer = flow('outer', [
      { id: 'wait', tool: 'demo.write', input: {} },
      { id: 'sub', workflow: 'inner', input: {} },
    ]);
    const run = await heddle.runs.start(ada, { value: outer }, {}, {});
    await until('the run waits', () => demo.calls.length === 1);
    await heddle.workflows.unregister(ada, 'inner');
    await heddle.workflows.register(ada, { value: flow('inner', [callEcho('a', { v: 2 })]) });
    gate.resolve();
    const result = await heddle.runs.settled(ada, run.id, never());
    expect(result).toMatchObject({ success: true, output: { v: 1 } });
    const runs = await heddle.runs.list(ada, {});
    expect(runs.map(({ workflow, depth }) => [workflow, depth])).toEqual([
      ['inner', 1],
      ['outer', 0],
    ]);
    await heddle.workflows.register(ada, {
      value: flow('loops', [{ id: 'me', tool: 'loops', input: {} }]), // A bare name may be that of any server's tool.
    });
    const looped = await done(heddle, 'loops', {});
    expect(looped).toMatchObject({ success: false, error: { path: 'me' } });
    expect((await heddle.runs.list(ada, { workflow: 'loops' })).length).toBe(8);
  },
);

verifies('W3', 'the result of a sub-workflow is its output, whether or not it is an object', async () => {
  const { heddle } = await heddleWith();
  for (const [name, output] of Object.entries({ plain: 'text', wrapped: { result: 'text' }, nothing: null })) {
    await heddle.workflows.register(ada, { value: flow(name, [callEcho('a')], { output }) });
    const outer = {
      value: flow('outer', [{ id: 'sub', workflow: name, input: {} }], { output: { sub: '$sub.result' } }),
    };
    expect(await done(heddle, outer, {}), name).toMatchObject({ success: true, output: { sub: output } });
  }
});

verifies('W3', 'a step keeps the code with which its workflow failed, and is repeated for it', async () => {
  const { heddle, demo } = await heddleWith();
  demo.change({ write: () => new Promise(() => {}) });
  const retry = { max: 1, initial: '1ms', on: ['TIMEOUT'] };
  const outer = (workflow: string) => ({ value: flow('outer', [{ id: 'sub', workflow, input: {}, retry }]) });
  await heddle.workflows.register(ada, { value: flow('waits', [{ id: 'a', wait: { for: '1h' }, timeout: '1ms' }]) });
  const message = 'The run of mcp__workflow__waits failed: The step a did not end within 1 ms.';
  expect((await done(heddle, outer('waits'), {})).error).toMatchObject({ code: 'TIMEOUT', path: 'sub', message });
  expect(await heddle.runs.list(ada, { workflow: 'waits' })).toHaveLength(2);
  const writes = [{ id: 'b', tool: 'demo.write', input: {}, timeout: '1ms' }];
  await heddle.workflows.register(ada, { value: flow('writes', writes) });
  expect((await done(heddle, outer('writes'), {})).error).toMatchObject({ code: 'TIMEOUT', mayHaveActed: true });
  expect(await heddle.runs.list(ada, { workflow: 'writes' })).toHaveLength(1);
});

verifies('W4', 'computes the facts of a workflow again when a tool changes', async () => {
  const { heddle, demo } = await heddleWith();
  await heddle.workflows.register(ada, { value: flow('facts', [callEcho('a')]) });
  const facts = async () => (await heddle.catalog.describe(ada, 'mcp__workflow__facts', never())).facts;
  expect(await facts()).toMatchObject({ readOnly: false, riskLevel: 'medium', builtin: false });
  demo.change({ other: echo });
  await until('the tool is gone', async () => (await facts()).riskLevel === 'high');
  expect(await facts()).toMatchObject({ readOnly: false, destructive: true });
});

verifies('W6', 'follows a run, retries it from a step and lists its events', async () => {
  const { heddle, demo, calls } = await heddleWith();
  await heddle.workflows.register(ada, {
    value: flow('retries', [callEcho('a', { n: 1 }), { id: 'b', tool: 'demo.fail', input: {} }]),
  });
  const events: string[] = [];
  const failed = await done(
    heddle,
    'retries',
    {},
    { onEvent: ({ kind, path }: RunEvent) => events.push(`${kind} ${path}`) },
  );
  expect(failed).toMatchObject({ success: false, status: 'failed', error: { path: 'b' }, stepsExecuted: 2 });
  expect(failed.logs.map(({ stepId, type }) => `${stepId} ${type}`)).toEqual([
    'a start',
    'a complete',
    'b start',
    'b error',
  ]);
  const stored = await heddle.runs.events(ada, failed.runId);
  expect(events).toEqual(stored.map(({ kind, path }) => `${kind} ${path}`));
  demo.change({ echo, fail: echo });
  const again = await heddle.runs.retry(ada, failed.runId.slice(0, 30), 'b');
  expect(again).toMatchObject({ retryOf: { run: failed.runId, from: 'b' } });
  expect(await heddle.runs.settled(ada, again.id, never())).toMatchObject({ success: true });
  expect(calls.map(({ name }) => name)).toEqual(['echo', 'fail', 'fail']);
});

verifies(
  'W5',
  'steps are spans below their run, also in a workflow of a workflow, in the trace of the client',
  async () => {
    const folder = await temporaryFolder();
    const store = join(folder, 'heddle.db');
    const demo = echoServer();
    const heddle = await temporaryHeddle({ folder, config: { mode: 'open' }, store, servers: { demo } });
    await heddle.workflows.register(ada, { value: flow('inner', [callEcho('a')]) });
    await heddle.workflows.register(ada, { value: flow('outer', [{ id: 'sub', workflow: 'inner', input: {} }]) });
    const [traceId, above] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
    await heddle.dispatch(call('mcp__workflow__outer', {}, { meta: { traceparent: `00-${traceId}-${above}-01` } }));
    await heddle.close();
    const { traces, close } = await openStore({ location: store });
    onTestFinished(close);
    const spans = await traces.get(traceId);
    const spanOf = (wanted: string) => spans.find(({ name, parentId }) => name === wanted && parentId !== undefined);
    const [outer, inner, step] = ['mcp__workflow__outer', 'mcp__workflow__inner', 'mcp__demo__echo'].map(spanOf);
    expect([outer?.parentId, inner?.parentId, step?.parentId]).toEqual([above, outer?.spanId, inner?.spanId]);
  },
);

verifies('W5', 'fails the runs of a key that was revoked', async () => {
  const { heddle, demo } = await heddleWith();
  const gate = Promise.withResolvers<void>();
  demo.change({ echo, write: async (input) => gate.promise.then(() => echo(input)) });
  await heddle.access.createKey(ada, { name: 'bot', roles: ['user'] });
  const bot = { id: 'key:bot', roles: ['user'], via: 'gateway' } as const;
  const steps = [{ id: 'ok', approval: { title: 'Go?' } }, callEcho('a')];
  await heddle.workflows.register(ada, { value: flow('asks', steps) });
  const run = await heddle.runs.start(bot, 'asks', {}, {});
  await until('the step asks', async () => (await heddle.approvals.count(ada)) === 1);
  expect(await heddle.runs.list(bot, {})).toHaveLength(1);
  await heddle.access.revokeKey(ada, 'bot');
  // Another key of this name is another caller.
  await heddle.access.createKey(ada, { name: 'bot', roles: ['user'] });
  expect(await heddle.runs.list(bot, {})).toEqual([]);
  await expect(heddle.runs.cancel(bot, run.id)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
  const [approval] = await heddle.approvals.list(ada);
  await heddle.approvals.decide(ada, approval?.id ?? '', { verdict: 'approve' });
  const ended = await heddle.runs.settled(ada, run.id, never());
  expect(ended).toMatchObject({ status: 'failed', error: { code: 'PERMISSION_DENIED' } });
  expect(demo.calls).toEqual([]);
});
