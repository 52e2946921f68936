import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { isProcessAlive, thisProcess } from './process-start.ts';

verifies('W5', 'knows a living process by its pid and start, and no other one', async () => {
  const own = thisProcess();
  expect(isProcessAlive(own)).toBe(true);
  expect(isProcessAlive({ ...own, startedAt: `${own.startedAt}0` })).toBe(false);
  expect(isProcessAlive({ ...own, startedAt: own.startedAt.replace(/^\S+/, 'another-host') })).toBe(false);
  for (const pid of [0, -1, Number.NaN, 2 ** 31]) expect.soft(isProcessAlive({ ...own, pid })).toBe(false);
});

verifies('W5', 'knows that a killed process is dead', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  const { pid = 0 } = child;
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isProcessAlive({ ...thisProcess(), pid })).toBe(false);
});
