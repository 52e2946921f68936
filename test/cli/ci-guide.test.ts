import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished } from 'vitest';
import { ERRORS, type ErrorCode } from '../../src/core/error-codes.ts';
import { BIN, project, ROOT } from '../e2e/heddle-command.ts';
import { verifies } from '../requirements.ts';

const GUIDE = readFileSync(join(ROOT, 'docs', 'guides', 'ci.md'), 'utf8');
const BLOCKS = [...GUIDE.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)];
const blocksOf = (language: string) => BLOCKS.filter(([, one]) => one === language).map(([, , block = '']) => block);

/** Replaces times, ids and the project folder, which differ in each session. */
const withoutChance = (output: string, folder = '/home/ann/shop') =>
  output
    .replaceAll(folder, '<folder>')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>');

/** Ends the session and the gateway in it, which a failed test may have left. */
function killGroup(pid = 0): void {
  try {
    if (pid > 0) process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}

verifies('L4', 'the guide for CI: every block of it runs, with the output that it shows', async () => {
  const [config = '', ...others] = blocksOf('json');
  expect(others).toEqual([]);
  const one = project({ 'heddle.json': config, VERSION: '1.4.2\n' }, { trusted: false });
  const bin = join(one.folder, '..', 'bin');
  mkdirSync(bin);
  symlinkSync(BIN, join(bin, 'heddle'));
  const shown = blocksOf('').join('');
  const commands = shown.split('\n').filter((line) => line.startsWith('$ '));
  const script = join(one.folder, '..', 'session.sh');
  // Each command is printed before it runs, as a terminal shows it.
  writeFileSync(script, commands.map((line) => `echo '${line.replaceAll("'", "'\\''")}'\n${line.slice(2)}\n`).join(''));
  // Its temporary folder is removed with the project.
  const env = { ...one.env, PATH: `${bin}:${one.env.PATH}`, TMPDIR: join(one.folder, '..') };
  const shell = spawn('bash', ['-c', `exec 2>&1; . '${script}'`], { cwd: one.folder, env, detached: true });
  onTestFinished(() => killGroup(shell.pid));
  const output = await text(shell.stdout);
  expect(withoutChance(output, realpathSync(one.folder)).split('\n')).toEqual(withoutChance(shown).split('\n'));
});

verifies('L4', 'the guide for CI has the exit codes of the table of errors', () => {
  const rows = [...GUIDE.matchAll(/^\| (\d+) \|.*\| (.*) \|$/gm)];
  const codes = rows.flatMap(([, exit, list = '']) => [...list.matchAll(/`(\w+)`/g)].map(([, code]) => [code, exit]));
  expect(codes.length).toBeGreaterThan(10);
  for (const [code, exit] of codes) expect([code, ERRORS[code as ErrorCode]?.exit]).toEqual([code, Number(exit)]);
});
