import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';
import { project, SERVERS } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const TOOL = { name: 'read', description: 'Reads a page.', inputSchema: { type: 'object' } };
const LISTED = JSON.stringify({ tools: [TOOL] });

/** A project with one server that writes `started` and reads its input once the file `gate` exists. */
function gated() {
  const wait = ': > started; until [ -e gate ]; do sleep 0.05; done; exec "$@"';
  const args = ['-c', wait, 'sh', process.execPath, join(SERVERS, 'listing-server.mjs'), LISTED];
  const world = project({ 'heddle.json': { mcpServers: { slow: { command: 'sh', args } } } });
  return {
    ...world,
    hasStarted: () => existsSync(join(world.folder, 'started')),
    open: () => writeFileSync(join(world.folder, 'gate'), ''),
  };
}

interface Row {
  readonly kind: string;
  readonly server?: string;
}

const missingIn = (stdout: string) => (JSON.parse(stdout) as Row[]).filter(({ kind }) => kind === 'missing');

verifies('T3', 'a list names the server that it waits for on a terminal, and has its tools', async () => {
  const world = gated();
  const { screen, ended } = await terminal(world, ['list', 'tools']);
  await until('the server is named', () => screen().includes('Starting slow'));
  world.open();
  expect(await ended()).toBe(0);
  expect(screen()).toMatch(/mcp__slow__read +Reads a page\./);
});

verifies('T3', 'lists a known server from the cache without starting it', async () => {
  const world = gated();
  const open = () => until('the server has started', world.hasStarted).then(world.open);
  const first = await world.heddle(['list', 'tools', '--json'], { meanwhile: open });
  const second = await world.heddle(['list', 'tools', '--json', '--no-wait']);
  expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining('mcp__slow__read') });
  expect(missingIn(first.stdout)).toEqual([]);
  expect(second).toEqual(first);
});

verifies('L3', '--no-wait starts no server and names the missing ones on stderr and in JSON', async () => {
  const world = gated();
  const missing = { kind: 'missing', server: 'slow', state: 'pending', reason: 'It was never connected.' };
  const fix = 'Run the command again without --no-wait.';
  for (const args of [
    ['list', 'tools'],
    ['list', 'prompts'],
    ['list', 'categories'],
    ['search', 'page'],
  ]) {
    const { code, stdout, stderr } = await world.heddle([...args, '--no-wait', '--json']);
    expect([code, missingIn(stdout)]).toEqual([0, [{ ...missing, fix }]]);
    expect(stderr).toBe(`slow is missing: ${missing.reason}\n  fix: ${fix}\n`);
  }
  const { code, stderr } = await world.heddle(['describe', 'read', '--no-wait']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('slow is missing')]);
  expect(world.hasStarted()).toBe(false);
});

verifies('L3', 'JSON output has the failed servers and the reasons', async () => {
  const gone = { command: 'no-such-program' };
  const { heddle } = project({ 'heddle.json': { mcpServers: { gone, other: { ...gone, enabled: false } } } });
  const { code, stdout, stderr } = await heddle(['list', 'tools', '--json']);
  expect([code, missingIn(stdout)]).toEqual([
    0,
    [
      {
        ...{ kind: 'missing', server: 'gone', state: 'failed', failedAgoMs: expect.any(Number) },
        ...{ reason: expect.any(String), fix: expect.any(String) },
      },
    ],
  ]);
  expect(stderr).toContain('gone failed: ');
  const one = await heddle(['list', 'tools', '--server', 'filesystem', '--json']);
  expect(missingIn(one.stdout)).toEqual([]);
});
