import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { expectGrowth, MEASURES } from '../limits.ts';
import { verifies } from '../requirements.ts';

const STDERR_MEGABYTES = MEASURES ? 1000 : 100;
const ALLOWED_MEGABYTES = 50;

interface FloodResult {
  readonly grownMegabytes: number;
  readonly outcome: string;
  readonly notifications: number;
  readonly troubles: readonly string[];
  readonly stderr: number;
}

/** Runs a flood in a process of its own, because the memory of the test runner would hide the growth. */
async function flood(kind: string, megabytes: number): Promise<FloodResult> {
  const args = ['--no-warnings', join(import.meta.dirname, 'measure-flood.mjs'), kind, `${megabytes}`];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const result = JSON.parse(stdout) as FloodResult;
  expectGrowth(result.grownMegabytes, ALLOWED_MEGABYTES);
  return result;
}

verifies('F3', 'rejects a line of 100 MB at the limit, and reports it as trouble of the server', async () => {
  const limit = 'flood sent a message of more than 16777216 bytes, which is the limit.';
  expect(await flood('line', 100)).toMatchObject({ outcome: expect.stringContaining(limit), troubles: [limit] });
});

verifies(
  'F3',
  `keeps only the last 64 KiB of ${STDERR_MEGABYTES} MB on stderr`,
  async () => {
    expect(await flood('stderr', STDERR_MEGABYTES)).toMatchObject({ outcome: 'answered', stderr: 64 * 1024 });
  },
  300_000,
);

verifies('F3', 'leaves a flood of notifications in the server while Heddle does not read', async () => {
  const { outcome, notifications } = await flood('notifications', 100);
  expect([outcome, notifications]).toEqual(['answered', 1000 + 100_000]);
});
