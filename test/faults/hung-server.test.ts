import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { openWatchdog } from '../../src/process/watchdog.ts';
import { entryOf, serverOf, tinyServer, toolCall } from '../../src/upstream/fixtures.ts';
import { connectStdio } from '../../src/upstream/transports/connect-stdio.ts';
import { alive, carriersOf } from '../alive.ts';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';

const signal = new AbortController().signal;
const PID_SERVER = join(import.meta.dirname, '../servers/pid-server.mjs');

verifies('F2', 'ends a server that hangs with all its processes, and starts it again', async () => {
  const watchdog = openWatchdog();
  onTestFinished(() => watchdog.close());
  const connect = connectStdio(entryOf({ command: process.execPath, args: [PID_SERVER] }), watchdog);
  const { server, time } = serverOf(tinyServer(), { connect });
  const connection = await server.connect(signal);
  const { value } = (await connection.send(toolCall('who'))) as unknown as { value: { content: [{ text: string }] } };
  const mark = `HEDDLE_LINE=${value.content[0].text}`;
  // The processes of the server, by their ids on this machine.
  const family = carriersOf(mark);
  for (const pid of family) process.kill(pid, 'SIGSTOP');
  for (let n = 0; n < 4; n++) {
    time.pass(30_000);
    const checked = server.check();
    await new Promise(setImmediate);
    time.pass(5000);
    await checked;
  }
  expect(server.status).toMatchObject({ state: 'pending', reason: expect.stringContaining('stopped answering') });
  await connection.closed;
  await until('no process is left', () => !family.some(alive) && carriersOf(mark).length === 0);
  time.pass(10_000);
  await until('it is connected again', () => server.status.state === 'connected');
  await expect(server.connection?.send(toolCall('who'))).resolves.toMatchObject({ kind: 'complete' });
});
