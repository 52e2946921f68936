import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { until } from '../../test/until.ts';
import { fileVersion, MISSING } from './read/read-file.ts';
import { watchFiles } from './watch-files.ts';

/** Watches one file in a folder that is gone when the test ends. */
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

verifies('C13', 'a file that is missing is no change, until it appears', async () => {
  let changes = 0;
  const { file, follow } = watching(() => changes++);
  follow(MISSING);
  expect(changes).toBe(0);
  writeFileSync(file, '{}');
  await until('it has appeared', () => changes === 1);
});

verifies('C13', 'a change between the reading and the first poll is noticed', async () => {
  let changes = 0;
  const { file, follow } = watching(() => changes++);
  writeFileSync(file, '{}');
  const version = fileVersion(statSync(file));
  writeFileSync(file, '{"a": 1}');
  follow(version);
  await until('it is noticed', () => changes === 1);
});

verifies('C13', 'a file that was read between two polls that do not see it is noticed to be gone', async () => {
  let changes = 0;
  const { file, follow } = watching(() => {
    changes++;
    if (changes > 1) return;
    writeFileSync(file, '{}');
    follow(fileVersion(statSync(file))); // As a reading at this moment does.
    rmSync(file);
  });
  writeFileSync(file, '{}');
  follow(fileVersion(statSync(file)));
  rmSync(file);
  await until('it is noticed', () => changes === 2);
});
