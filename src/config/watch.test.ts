import { mkdtempSync, rmSync, unwatchFile, watchFile, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { until } from '../../test/until.ts';
import { watchFiles } from './watch.ts';

verifies('C13', 'a file that is missing is no change, until it appears', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-watch-'));
  const file = join(folder, 'heddle.json');
  let changes = 0;
  const settleMs = 1;
  const watch = watchFiles({ onChange: () => changes++, pollMs: 10, settleMs });
  onTestFinished(() => {
    watch.close();
    rmSync(folder, { recursive: true });
  });
  watch.follow([file]);
  // Told after ours, since all who watch a file share one watcher; and of timers of one length the older fires first.
  const { promise: looked, resolve } = Promise.withResolvers<void>();
  const onLook = () => setTimeout(resolve, settleMs);
  watchFile(file, onLook);
  onTestFinished(() => unwatchFile(file, onLook));
  await looked;
  expect(changes).toBe(0);
  writeFileSync(file, '{}');
  await until('it has appeared', () => changes === 1);
});
