import { type ChildProcess, spawn } from 'node:child_process';
import { expect, it } from 'vitest';
import { alive, watchdogsOf } from '../../test/alive.ts';
import { verifies } from '../../test/requirements.ts';
import { until } from '../../test/until.ts';
import { openWatchdog } from './watchdog.ts';

/** A Heddle in its own process, holding one server that ignores signals and has three deaf children. */
const HOLDER = `
  import { StdioLine } from '${new URL('../upstream/stdio-line.ts', import.meta.url)}';
  import { openWatchdog } from '${new URL('./watchdog.ts', import.meta.url)}';
  const family = \`
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => {});
    const { spawn } = require('node:child_process');
    const deaf = "trap '' INT TERM HUP; echo [$$]; while :; do sleep 1; done";
    const leave = 'setsid sh -c "$0" & exit 0';
    const kids = [['sh', ['-c', deaf], false], ['sh', ['-c', deaf], true], ['sh', ['-c', leave, deaf], false]];
    for (const [command, args, detached] of kids) spawn(command, args, { detached, stdio: ['ignore', 'inherit', 'ignore'] });
    console.log([process.pid]);
    setInterval(() => {}, 1000);\`;
  const watchdog = openWatchdog();
  const line = new StdioLine({ server: 'deaf', watchdog, command: process.execPath, args: ['-e', family], env: process.env });
  line.onmessage = (pid) => console.log(String(pid));
  await line.start();
`;

async function pidsFrom({ stdout }: ChildProcess, count: number): Promise<number[]> {
  const pids: number[] = [];
  for await (const chunk of stdout ?? []) {
    pids.push(...String(chunk).split('\n').map(Number).filter(Boolean));
    if (pids.length === count) break;
  }
  return pids;
}

/** A process group that carries no mark. */
function sleeper(): number {
  return spawn('sleep', ['60'], { detached: true, stdio: 'ignore', env: { PATH: process.env.PATH } }).pid as number;
}

verifies('T4', 'leaves nothing alive when Heddle itself is killed with SIGKILL', async () => {
  const args = ['--no-warnings', '--input-type=module', '-e', HOLDER];
  const holder = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const pids = await pidsFrom(holder, 4);
  expect(pids.map(alive)).toEqual([true, true, true, true]);
  holder.kill('SIGKILL');
  await until('all of the family are gone', () => !pids.some(alive), 3000);
});

it('kills the groups it was told of when it closes, and none that it was told to forget', async () => {
  const watchdog = openWatchdog();
  const mark = watchdog.mark();
  const [first, second, third] = [sleeper(), sleeper(), sleeper()];
  for (const pid of [first, second, third]) watchdog.watch(pid);
  watchdog.forget(second);
  watchdog.close();
  await until('the dog has done its work', () => watchdogsOf(mark).length === 0);
  await until('the watched are gone', () => !alive(first) && !alive(third));
  expect(alive(second)).toBe(true);
  process.kill(second, 'SIGKILL');
});

it('starts again when somebody kills it, and still knows whom it guards', async () => {
  const watchdog = openWatchdog();
  const mark = watchdog.mark();
  const pid = sleeper();
  watchdog.watch(pid);
  await until('the dog has started', () => watchdogsOf(mark).length === 1);
  const [first] = watchdogsOf(mark) as [number];
  process.kill(first, 'SIGKILL');
  await until('another dog has started', () => watchdogsOf(mark).length === 1 && watchdogsOf(mark)[0] !== first);
  expect(alive(pid)).toBe(true);
  watchdog.close();
  await until('the watched is gone', () => !alive(pid) && watchdogsOf(mark).length === 0);
});

it('starts one shell for many children, none before the first, and none is left when it closes', async () => {
  const watchdog = openWatchdog();
  const marks = new Set(Array.from({ length: 20 }, () => watchdog.mark()));
  expect(marks.size).toBe(20);
  const [mark = ''] = marks;
  await until('it has started', () => watchdogsOf(mark).length > 0);
  expect(watchdogsOf(mark)).toHaveLength(1);
  watchdog.close();
  await until('it has gone', () => watchdogsOf(mark).length === 0);
  openWatchdog().close(); // Nothing was started: nothing to end.
});
