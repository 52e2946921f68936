import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../requirements.ts';

const INDEX = join(import.meta.dirname, '../../src/index.ts');

verifies('W6', 'a program stays alive while it waits for a run, and only then', () => {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-awaited-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const program = `
    import { openHeddle } from ${JSON.stringify(INDEX)};
    const late = { heddle: 1, name: 'late', steps: [{ id: 'w', wait: { for: '1h' } }] };
    const heddle = await openHeddle({ config: { mode: 'open', workflows: { late } }, store: ':memory:', runs: true });
    const { status, error } = await heddle.run('late', {}, { timeoutMs: 20 });
    console.log(status, error?.code);
    const called = await heddle.call('workflow.late', {}, { timeoutMs: 20 }).catch((thrown) => thrown);
    console.log(called.code ?? called.isError);
    console.log((await heddle.run('late', {}, { detach: true })).status);`;
  const env = { ...process.env, HEDDLE_HOME: folder, HOME: folder };
  const args = ['--input-type=module', '-e', program];
  const child = spawnSync(process.execPath, args, { cwd: folder, env, timeout: 60_000 });
  expect([child.stdout.toString(), child.stderr.toString(), child.status]).toEqual([
    'failed TIMEOUT\ntrue\nrunning\n',
    '',
    0,
  ]);
});
