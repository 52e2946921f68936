import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../requirements.ts';

const INDEX = join(import.meta.dirname, '../../src/index.ts');

verifies('W6', 'a program that waits for a run stays alive while the run only waits', () => {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-awaited-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const program = `
    import { openHeddle } from ${JSON.stringify(INDEX)};
    const heddle = await openHeddle({ config: { mode: 'open' }, store: ':memory:' });
    const steps = [{ id: 'w', wait: { for: '1h' } }];
    const { status, error } = await heddle.run({ value: { heddle: 1, name: 'late', steps } }, {}, { timeoutMs: 20 });
    console.log(status, error?.code);
    await heddle.close();`;
  const env = { ...process.env, HEDDLE_HOME: folder, HOME: folder };
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', program], { cwd: folder, env });
  expect([child.stdout.toString(), child.status]).toEqual(['failed TIMEOUT\n', 0]);
});
