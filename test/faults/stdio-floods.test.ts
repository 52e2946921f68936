import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { expectGrowth, MEASURES } from '../limits.ts';
import { verifies } from '../requirements.ts';

const STDERR_MEGABYTES = MEASURES ? 1000 : 100;
const ALLOWED_MEGABYTES = 50;

interface Fared {
  readonly grownMegabytes: number;
  readonly outcome: string;
  readonly received: number;
  readonly troubles: readonly string[];
  readonly stderr: number;
}

/** Runs in a process of its own, because other memory of the test would hide the growth. */
async function flood(kind: string, megabytes: number): Promise<Fared> {
  const args = ['--no-warnings', join(import.meta.dirname, 'measure-flood.mjs'), kind, `${megabytes}`];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const fared = JSON.parse(stdout) as Fared;
  expectGrowth(fared.grownMegabytes, ALLOWED_MEGABYTES);
  return fared;
}

verifies('F3', 'a line of 100 MB is refused at the limit, and the server is known to be in trouble', async () => {
  const limit = 'flood sent a message of more than 16777216 bytes, which is the limit.';
  expect(await flood('line', 100)).toMatchObject({ outcome: expect.stringContaining(limit), troubles: [limit] });
});

verifies(
  'F3',
  `${STDERR_MEGABYTES} MB on stderr cost no more memory than the end of them`,
  async () => {
    expect(await flood('stderr', STDERR_MEGABYTES)).toMatchObject({ outcome: 'answered', stderr: 64 * 1024 });
  },
  300_000,
);

verifies('F3', 'a flood of messages waits at the server while Heddle does not read', async () => {
  const { outcome, received } = await flood('notifications', 100);
  expect([outcome, received]).toEqual(['answered', 1000 + 100_000]);
});
