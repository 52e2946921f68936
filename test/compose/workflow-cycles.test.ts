import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Caller, JsonObject } from '../../src/core/call.ts';
import { verifies } from '../requirements.ts';
import { temporaryFolder, temporaryHeddle } from '../temporary-heddle.ts';

const ada: Caller = { id: 'local:ada', roles: ['owner'], via: 'library' };
const flow = (name: string, step: JsonObject) => ({ value: { heddle: 1, name, steps: [{ id: 's', ...step }] } });
const WAIT: JsonObject = { wait: { for: '1ms' } };

verifies(
  'W1',
  'refuses to register a workflow that calls itself over others, however its steps name them',
  async () => {
    const heddle = await temporaryHeddle({ config: { mode: 'open' }, store: ':memory:' });
    await heddle.catalog.list(ada, {}); // A bare name is that of a workflow if no server has such a tool.
    await heddle.workflows.register(ada, flow('a', { workflow: 'b' }));
    await heddle.workflows.register(ada, flow('deep', { tool: 'workflow.a' }));
    const ways: readonly JsonObject[] = [
      { workflow: 'a' },
      { tool: 'workflow.a' },
      { tool: 'mcp__workflow__a' },
      { tool: 'a' },
      { ...WAIT, compensate: { tool: 'workflow.a' } },
      { fanout: { items: [1], as: 'x', do: [{ id: 'y', ...WAIT }], merge: { tool: 'workflow.a' } } },
      { code: { tools: ['workflow.a'], ts: 'return 1' } },
      { parallel: { one: WAIT, two: { workflow: 'a' } } },
      { tool: 'demo.none', onError: 'fallback', fallback: { id: 'f', workflow: 'a' } },
    ];
    for (const step of ways) {
      const refused = await heddle.workflows.register(ada, flow('b', step)).catch((thrown) => thrown);
      expect([step, refused.code, refused.message]).toEqual([
        step,
        'WORKFLOW_INVALID',
        expect.stringContaining('The workflow calls itself: b → a → b.'),
      ]);
    }
    const long = await heddle.workflows.register(ada, flow('b', { workflow: 'deep' })).catch((thrown) => thrown);
    expect(long.message).toContain('b → deep → a → b');
    await expect(heddle.runs.start(ada, flow('self', { workflow: 'self' }), {}, {})).rejects.toMatchObject({
      code: 'WORKFLOW_INVALID',
      message: expect.stringContaining('self → self'),
    });
    await heddle.workflows.register(ada, flow('b', WAIT));
  },
);

verifies('W1', 'refuses workflows of the configuration that call one another, each with its location', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'home', 'workflows'), { recursive: true });
  const write = (name: string, steps: string) =>
    writeFile(join(folder, 'home', 'workflows', `${name}.yaml`), `heddle: 1\nname: ${name}\nsteps:\n${steps}`);
  await write('a', '  - { id: w, wait: { for: 1ms } }\n  - { id: s, workflow: b }\n');
  await write('b', '  - { id: s, tool: workflow.a }\n');
  await write('c', '  - { id: s, wait: { for: 1ms } }\n');
  const heddle = await temporaryHeddle({ config: { mode: 'open' }, store: ':memory:', folder });
  const { items } = await heddle.catalog.list(ada, { server: 'workflow' });
  expect(items.map(({ name }) => name)).toEqual(['c']);
  const cyclic = (message: string, line: number) => [
    { level: 'error', code: 'WORKFLOW_CYCLIC', message, at: { file: expect.any(String), line, column: 5 } },
  ];
  expect(await heddle.workflows.list(ada)).toMatchObject([
    { name: 'a', problems: cyclic('The workflow calls itself: a → b → a.', 5) },
    { name: 'b', problems: cyclic('The workflow calls itself: b → a → b.', 4) },
    { name: 'c', problems: [] },
  ]);
  const { problems } = await heddle.workflows.lint(ada, 'a', new AbortController().signal);
  expect(problems).toMatchObject(cyclic('The workflow calls itself: a → b → a.', 5));
});
