import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../requirements.ts';

const PROGRAM = join(import.meta.dirname, 'full-disk-program.ts');
const MOUNT = 'mount -t tmpfs -o size=4m heddle "$1" && exec "$2" "$3" "$1"';

verifies('F7', 'on a full disk writes are refused, reads go on, approvals stay intact, and it recovers', async () => {
  const disk = mkdtempSync(join(tmpdir(), 'heddle-disk-'));
  onTestFinished(() => rmSync(disk, { recursive: true, force: true }));
  const inNamespace = [
    '--user',
    '--map-root-user',
    '--mount',
    'sh',
    '-c',
    MOUNT,
    'sh',
    disk,
    process.execPath,
    PROGRAM,
  ];
  const { stdout } = await promisify(execFile)('unshare', inNamespace);
  const found = JSON.parse(stdout);
  expect(found).toMatchObject({
    before: ['ok', 'APPROVAL_PENDING'],
    full: { write: 'AUDIT_UNAVAILABLE', read: 'ok' },
    after: ['ok', 'ok'],
    faults: [],
  });
  expect(['pending', 'approved']).toContain(found.status);
  // The first write and those that found room: nothing else reached the server.
  expect(found.sentWhileFull).toBe(1 + found.written);
});
