import { spawn } from 'node:child_process';
import { expect, it } from 'vitest';
import { alive, watchdogsOf } from '../../test/alive.ts';
import { until } from '../../test/until.ts';
import { openWatchdog } from './watchdog.ts';

/** A process group that carries no mark. */
function sleeper(): number {
  return spawn('sleep', ['60'], { detached: true, stdio: 'ignore', env: { PATH: process.env.PATH } }).pid as number;
}

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

it('restarts after a kill and still watches the same processes', async () => {
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

it('asks once whether children can be enclosed, and not before anybody wants to know', async () => {
  let probes = 0;
  const watchdog = openWatchdog({ WHO: 'us' }, async ({ env } = {}) => ({
    reason: `probe ${++probes} for ${env?.WHO}`,
  }));
  expect(probes).toBe(0);
  const answers = await Promise.all([watchdog.enclosure(), watchdog.enclosure()]);
  expect(answers).toEqual([{ reason: 'probe 1 for us' }, { reason: 'probe 1 for us' }]);
  watchdog.close();
});

it('is started again after the machine had no room for it', async () => {
  const script = `
    import { closeSync, openSync } from 'node:fs';
    import { openWatchdog } from ${JSON.stringify(new URL('./watchdog.ts', import.meta.url).href)};
    const taken = [];
    try { for (;;) taken.push(openSync('/dev/null')); } catch {}
    const watchdog = openWatchdog();
    watchdog.mark();
    await new Promise(setImmediate);
    for (const one of taken) closeSync(one);
    console.log(watchdog.mark());
    process.stdin.on('end', () => process.exit()).resume();`;
  const command = 'ulimit -n 80 && exec "$0" --input-type=module -e "$1"';
  const child = spawn('sh', ['-c', command, process.execPath, script], { stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  let trouble = '';
  child.stdout.on('data', (chunk) => (said += chunk));
  child.stderr.on('data', (chunk) => (trouble += chunk));
  await until('it has a mark', () => said.includes('\n') || child.exitCode !== null);
  expect(trouble).toBe('');
  const mark = said.trim();
  await until('its dog has started', () => watchdogsOf(mark).length === 1);
  child.stdin.end();
  await until('its dog has gone', () => watchdogsOf(mark).length === 0);
});
