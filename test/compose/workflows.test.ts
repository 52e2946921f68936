import { expect } from 'vitest';
import { newCallId } from '../../src/core/call/call-id.ts';
import type { Call, Caller, JsonObject } from '../../src/core/call.ts';
import { tinyServer } from '../../src/upstream/fixtures.ts';
import { verifies } from '../requirements.ts';
import { temporaryHeddle } from '../temporary-heddle.ts';

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

/** A server whose tools return their arguments. */
function echoServer() {
  const calls: JsonObject[] = [];
  const tool = (name: string, annotations: JsonObject) => ({ name, inputSchema: { type: 'object' }, annotations });
  const { serve } = tinyServer({
    'tools/list': () => ({
      tools: [tool('echo', { readOnlyHint: true }), tool('write', { destructiveHint: false })],
    }),
    'tools/call': (params) => {
      calls.push(params);
      return { content: [{ type: 'text', text: JSON.stringify(params.arguments) }] };
    },
  });
  return { calls, server: { connect: (transport: never) => serve(transport) } };
}

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
  const heddle = await temporaryHeddle({ config, store: ':memory:', servers: { demo: demo.server } });
  return { heddle, calls: demo.calls };
}

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
