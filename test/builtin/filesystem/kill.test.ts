import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { MEASURES } from '../../limits.ts';
import { verifies } from '../../requirements.ts';
import { temporaryFolder } from '../../temporary-heddle.ts';

const PROGRAM = join(import.meta.dirname, 'write-loop.ts');
// Each kill meets all files of a program at random moments of their writes.
const FILES = 10;
const KILLS = MEASURES ? 100 : 4;

/** Starts the program and kills it after a random number of finished writes. */
async function killDuringWrites(folder: string): Promise<void> {
  const child = spawn(process.execPath, [PROGRAM, folder, String(FILES)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  let left = FILES + Math.floor(Math.random() * 40);
  child.stdout.on('data', (dots: Buffer) => {
    left -= dots.length;
    if (left <= 0) child.kill('SIGKILL');
  });
  expect(await exited).toEqual([null, 'SIGKILL']);
}

verifies(
  'B1',
  `after SIGKILL at ${KILLS * FILES} moments of writing each file is wholly old or new`,
  async () => {
    const folder = await temporaryFolder();
    for (let kill = 0; kill < KILLS; kill++) {
      await killDuringWrites(folder);
      const names = readdirSync(folder);
      for (const name of names.filter((one) => one.startsWith('file-'))) {
        const content = readFileSync(join(folder, name), 'utf8');
        const letter = content[0] ?? '';
        const length = 100_000 + letter.charCodeAt(0) - 97;
        expect(content === letter.repeat(length), `${name}: ${content.length} of ${letter}`).toBe(true);
      }
      const others = names.filter((one) => !/^(file-\d|\.heddle-[0-9a-f]{32}\.tmp)$/.test(one));
      expect(others).toEqual([]);
    }
  },
  600_000,
);
