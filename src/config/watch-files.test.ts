import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { until } from '../../test/until.ts';
import { fileVersion, MISSING } from './read/read-file.ts';
import { watchFiles } from './watch-files.ts';

/** Watches one file in a folder that is removed when the test ends. */
function watching(onChange: () => void) {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-watch-'));
  const file = join(folder, 'heddle.json');
  const watch = watchFiles({ onChange, pollMs: 10, settleMs: 1 });
  onTestFinished(() => {
    watch.close();
    rmSync(folder, { recursive: true });
  });
  return { file, follow: (version?: string) => watch.follow(new Map([[file, version]])) };
}

verifies('C13', 'reports a missing file only when it appears', async () => {
  let changes = 0;
  const { file, follow } = watching(() => changes++);
  follow(MISSING);
  expect(changes).toBe(0);
  writeFileSync(file, '{}');
  await until('it has appeared', () => changes === 1);
});

verifies('C13', 'reports a change between the read and the first poll', async () => {
  let changes = 0;
  const { file, follow } = watching(() => changes++);
  writeFileSync(file, '{}');
  const version = fileVersion(statSync(file));
  writeFileSync(file, '{"a": 1}');
  follow(version);
  await until('it is noticed', () => changes === 1);
});

verifies('C13', 'reports the removal of a file that existed only between two polls, when it was read', async () => {
  let changes = 0;
  const { file, follow } = watching(() => {
    changes++;
    if (changes > 1) return;
    writeFileSync(file, '{}');
    follow(fileVersion(statSync(file))); // As a read at this moment does.
    rmSync(file);
  });
  writeFileSync(file, '{}');
  follow(fileVersion(statSync(file)));
  rmSync(file);
  await until('it is noticed', () => changes === 2);
});
