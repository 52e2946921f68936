import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, expect, it } from 'vitest';
import { carriersOf } from '../../../test/alive.ts';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import type { StdioEntry } from '../../config/schema/schema.ts';
import { NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import { openWatchdog } from '../../process/watchdog.ts';
import type { Connection, ConnectOptions } from '../connection.ts';
import { entryOf, toolCall } from '../fixtures.ts';
import { connectStdio } from './connect-stdio.ts';

const SERVER = fileURLToPath(new URL('../../../test/servers/odd-stdio-server.mjs', import.meta.url));
const folder = await mkdtemp(join(tmpdir(), 'heddle-'));
const log = join(folder, 'starts');
const watchdog = openWatchdog();
const open: Connection[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
  await rm(log, { force: true });
});
afterAll(async () => {
  watchdog.close();
  await rm(folder, { recursive: true });
});

const starts = async () => (await readFile(log, 'utf8')).trim().split('\n').length;

async function connect(ways: readonly string[], options: Partial<ConnectOptions> = {}, env = process.env) {
  const entry = entryOf<StdioEntry>({ command: process.execPath, args: [SERVER, ...ways], env: { START_LOG: log } });
  const connection = await connectStdio(
    entry,
    watchdog,
    env,
  )({
    server: 'odd',
    signal: new AbortController().signal,
    known: undefined,
    capabilities: NO_CAPABILITIES,
    onNotification: () => {},
    ...options,
  });
  open.push(connection);
  return connection;
}

const answer = async (connection: Connection, tool: string) => {
  const result = await connection.send(toolCall(tool, { x: 1 }));
  if (result.kind !== 'complete') throw new Error('It asked.');
  return JSON.parse((result.value.content as { text: string }[])[0]?.text ?? '');
};

for (const [ways, era] of [
  [['modern'], 'modern'],
  [[], 'legacy'],
  [['undiscoverable'], 'legacy'],
  [['noisy'], 'legacy'],
] as const) {
  verifies('T11', `connects a server that is ${ways[0] ?? 'plain'} with one process: ${era}`, async () => {
    const connection = await connect(ways);
    expect(connection.agreement).toMatchObject({ era, newest: era, serverInfo: { name: 'odd' } });
    await expect(answer(connection, 'echo')).resolves.toEqual({ x: 1 });
    expect(await connection.list('tools', new AbortController().signal)).toHaveLength(5);
    expect(await starts()).toBe(1);
  });
}

verifies('T4', 'starts a server without our variables', async () => {
  const ours = { PATH: process.env.PATH, NODE_OPTIONS: '--title=smuggled', LD_PRELOAD: '/no.so', MY_TOKEN: 'secret' };
  const environment = await answer(await connect([], {}, ours), 'environment');
  expect(Object.keys(environment).sort()).toEqual(['HEDDLE_LINE', 'PATH', 'START_LOG']);
});

verifies('T2', 'says how a server ended that dies in the handshake, and what it said', async () => {
  await expect(connect(['dies'])).rejects.toMatchObject({
    code: 'UPSTREAM_UNREACHABLE',
    delivered: 'no',
    message: 'odd ended before it was ready: it exited with code 3. Its stderr: cannot find the license file',
    fix: 'Correct what its stderr names, in `command`, `args` or `env` of odd.',
  });
});

it('leaves no process behind when the handshake is given up', async () => {
  const abort = new AbortController();
  const connecting = connect(['silent', 'stubborn'], { signal: abort.signal, known: 'legacy' });
  await until('it has started', async () => (await readFile(log, 'utf8').catch(() => '')) !== '');
  abort.abort();
  await expect(connecting).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  await until('all of it is gone', () => carriersOf(log).length === 0);
});

verifies('F1', 'tells a call that its server died, and keeps the end of its stderr', async () => {
  const connection = await connect([]);
  await expect(connection.send(toolCall('exit'))).rejects.toMatchObject({
    code: 'UPSTREAM_FAILED',
    delivered: 'maybe',
  });
  await connection.closed;
  expect(connection.stderrTail()).toBe('');
});

verifies('F2', 'gives a call up when its time is over, and goes on with the next', async () => {
  const connection = await connect([]);
  const slow = connection.send(toolCall('never', {}, { options: { timeoutMs: 50 } }));
  await expect(slow).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT', delivered: 'maybe' });
  await expect(answer(connection, 'echo')).resolves.toEqual({ x: 1 });
});
