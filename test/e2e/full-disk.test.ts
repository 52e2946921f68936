import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { BIN, type Outcome, type Project, project } from './heddle-command.ts';

/** Runs a command with a limit on file size in blocks: further writes fail like on a full disk. */
function heddleWithin(blocks: number, { folder, env }: Project, args: readonly string[]): Promise<Outcome> {
  const limited = ['-c', `ulimit -f ${blocks}; exec "$0" "$@"`, process.execPath, BIN, ...args];
  return new Promise((resolve) => {
    execFile('sh', limited, { cwd: folder, env }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    );
  });
}

describe('on a full disk', () => {
  verifies('F7', 'the start fails with path, reason and fix', async () => {
    const here = project();
    mkdirSync(here.home, { recursive: true });
    const { code, stdout, stderr } = await heddleWithin(0, here, ['list', 'tools']);
    expect([code, stdout]).toEqual([70, '']);
    expect(stderr).toContain(`The store at ${join(here.home, 'heddle.sqlite')} cannot be used: `);
    expect(stderr).toContain('no file there may grow any larger (`ulimit -f`)');
    expect(stderr).toContain('Raise the limit, or set `store`');
    expect(stderr).not.toContain('disk I/O error');
  });

  verifies('F7', 'doctor reports a store that opens but cannot be written', async () => {
    const here = project();
    const well = JSON.parse((await here.heddle(['doctor', '--json'])).stdout);
    const place = join(here.home, 'heddle.sqlite');
    expect(well).toContainEqual({
      level: 'ok',
      subject: 'store',
      message: expect.stringMatching(`^${place}, .* free$`),
    });
    const { code, stdout } = await heddleWithin(1000, here, ['doctor', '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([
      1,
      expect.arrayContaining([
        {
          level: 'error',
          subject: 'store',
          message: expect.stringContaining(`Nothing can be written to ${here.home}: `),
          fix: expect.stringContaining('Raise the limit'),
        },
      ]),
    ]);
  });
});
