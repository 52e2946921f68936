import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect } from 'vitest';
import { verifies } from '../../requirements.ts';
import { temporaryFolder } from '../../temporary-heddle.ts';

const PROGRAM = join(import.meta.dirname, 'full-tmpfs-program.ts');
const MOUNT = 'mount -t tmpfs -o size=1m heddle "$1" && exec "$2" "$3" "$1"';

describe.runIf(process.platform === 'linux')('a write', () => {
  verifies('B1', 'on a full or read-only disk gives the reason, keeps the old file and leaves nothing', async () => {
    const disk = await temporaryFolder();
    const args = ['--user', '--map-root-user', '--mount', 'sh', '-c', MOUNT, 'sh', disk, process.execPath, PROGRAM];
    const { stdout } = await promisify(execFile)('unshare', args);
    const full = expect.stringMatching(/the disk is full\. Nothing has changed/);
    const locked = expect.stringMatching(/mounted read-only/);
    expect(JSON.parse(stdout)).toEqual({
      tooLarge: [full, full],
      left: { entries: ['old.txt'], old: 'old' },
      freed: 'written',
      readOnly: [locked, locked],
      entries: ['old.txt'],
    });
  });
});
