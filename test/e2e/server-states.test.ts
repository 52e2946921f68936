import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { HeddleClient, ServerChange, ServerStatus } from '../../src/index.ts';
import { carriersOf } from '../alive.ts';
import { verifies } from '../requirements.ts';
import { temporaryFolder, temporaryHeddleClient } from '../temporary-heddle.ts';
import { until } from '../until.ts';
import { project, SERVERS } from './heddle-command.ts';

const ODD = join(SERVERS, 'odd-stdio-server.mjs');

/** Opens Heddle with one child process; returns its changes and the number of starts. */
async function opened(entry: object) {
  const folder = await temporaryFolder();
  const log = join(folder, 'starts');
  const odd = { command: process.execPath, args: [ODD], env: { START_LOG: log }, ...entry };
  const heddle = await temporaryHeddleClient({ folder, servers: { odd } });
  const told: ServerChange[] = [];
  const over = (async () => {
    for await (const change of heddle.changes()) if (change.kind === 'server') told.push(change);
  })();
  const starts = () => readFileSync(log, 'utf8').trim().split('\n').length;
  const running = () => carriersOf(log).length;
  const events = () => told.filter(({ subject }) => subject === 'odd').map(({ detail }) => detail.event);
  return { heddle, told, over, starts, running, events };
}

const statusOf = async (heddle: HeddleClient): Promise<ServerStatus> => {
  const found = (await heddle.servers.list()).find(({ name }) => name === 'odd');
  if (!found) throw new Error('There is no odd server.');
  return found;
};

verifies('T2', 'a program gets every state change of a server', async () => {
  const { heddle, told, over, starts, running, events } = await opened({ reconnect: { delayMs: 20 } });
  expect(await statusOf(heddle)).toMatchObject({ state: 'pending', attempt: [0, 1], health: 'unknown' });
  await heddle.call('odd.echo');
  expect(events()).toEqual(['pending', 'list-changed', 'connected']);
  expect(told.find(({ detail }) => detail.event === 'list-changed')?.detail).toMatchObject({ list: 'tools', tools: 5 });
  await expect(heddle.call('odd.exit')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  await until(
    'the server is connected again',
    async () => starts() === 2 && (await statusOf(heddle)).state === 'connected',
  );
  expect(events().slice(3)).toEqual(['disconnected', 'pending', 'pending', 'connected']);
  expect(told.find(({ detail }) => detail.event === 'disconnected')?.detail).toMatchObject({
    attempt: [1, 3],
    reason: 'The connection to odd dropped: it exited with code 4.',
    retryAt: expect.any(Number),
  });
  await heddle.close();
  await over;
  expect(events().at(-1)).toBe('closed');
  expect(running()).toBe(0);
});

verifies('F1', 'a server that exits on every call becomes failed, and no process is left', async () => {
  const { heddle, running, events } = await opened({ reconnect: { maxAttempts: 2, delayMs: 20 } });
  const failed = { code: expect.stringMatching(/^(UPSTREAM_|OUTCOME_)/) };
  await until('the server has failed', async () => {
    await expect(heddle.call('odd.exit')).rejects.toMatchObject(failed);
    return (await statusOf(heddle)).state === 'failed';
  });
  expect(await statusOf(heddle)).toMatchObject({
    attempt: [2, 2],
    reason: 'The connection to odd dropped: it exited with code 4.',
  });
  expect(events().filter((event) => event === 'connected')).toHaveLength(3);
  await until('no process is left', () => running() === 0);
});

verifies('T2', 'listing servers shows the state of each and starts none', async () => {
  const { heddle: run, folder } = project({
    'heddle.json': {
      mcpServers: {
        fine: { command: process.execPath, args: [ODD], env: { START_LOG: 'starts' } },
        off: { command: 'x', enabled: false },
        gone: { command: 'no-such-program', autoConnect: false },
      },
    },
  });
  const log = join(folder, 'starts');
  const list = async (...more: string[]) => {
    const { stdout } = await run(['list', 'servers', '--json', ...more]);
    const all: ServerStatus[] = JSON.parse(stdout);
    return Object.fromEntries(all.map((status) => [status.name, status]));
  };
  expect(await list()).toMatchObject({
    fine: { state: 'pending', attempt: [0, 1], health: 'unknown', sandbox: 'none' },
    off: { state: 'disabled', reason: 'off is disabled.' },
    gone: { state: 'pending' },
  });
  expect(() => readFileSync(log)).toThrow('ENOENT');
  expect(await list('--check')).toMatchObject({
    fine: { state: 'connected', health: 'ok', tools: 5, info: { era: 'legacy', serverInfo: { name: 'odd' } } },
    gone: { state: 'failed', attempt: [1, 1], reason: expect.stringContaining('no-such-program') },
  });
  expect(await list()).toMatchObject({ fine: { state: 'pending', tools: 5, prompts: 0 } });
});
