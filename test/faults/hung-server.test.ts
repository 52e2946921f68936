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

verifies('F2', 'a server that hangs is ended with all its processes, and started again', async () => {
  const watchdog = openWatchdog();
  onTestFinished(() => watchdog.close());
  const connect = connectStdio(entryOf({ command: process.execPath, args: [PID_SERVER] }), watchdog);
  const { server, time } = serverOf(tinyServer(), { connect });
  const line = await server.connect(signal);
  const { value } = (await line.send(toolCall('who'))) as unknown as { value: { content: [{ text: string }] } };
  const mark = `HEDDLE_LINE=${value.content[0].text}`;
  // All that carry the mark are ours, by the names this machine gives them.
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
  await line.closed;
  await until('all of it is gone', () => !family.some(alive) && carriersOf(mark).length === 0);
  time.pass(10_000);
  await until('it is back', () => server.status.state === 'connected');
  await expect(server.connection?.send(toolCall('who'))).resolves.toMatchObject({ kind: 'complete' });
});
