// Runs in a mount namespace with a small file system at the path of its argument. Prints one JSON object.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openRoots } from '../../../src/builtin/filesystem/places/roots.ts';
import { writeFileTool } from '../../../src/builtin/filesystem/write-file.ts';

const disk = process.argv[2] as string;
writeFileSync(join(disk, 'old.txt'), 'old');
const tool = writeFileTool({ roots: await openRoots([disk]), maxFileBytes: 10_000_000 });
const { signal } = new AbortController();
const write = (path: string, content: string) =>
  tool.run({ path, content }, signal).then(
    () => 'written',
    (error: Error) => error.message,
  );
const entries = () => readdirSync(disk, { recursive: true }).sort();

const tooLarge = [await write('old.txt', 'x'.repeat(2_000_000)), await write('new/deep/x', 'x'.repeat(2_000_000))];
const left = { entries: entries(), old: readFileSync(join(disk, 'old.txt'), 'utf8') };
writeFileSync(join(disk, 'filler'), Buffer.alloc(400_000));
rmSync(join(disk, 'filler'));
const freed = await write('old.txt', 'new');
execFileSync('mount', ['-o', 'remount,ro', disk]);
const readOnly = [await write('old.txt', 'newer'), await write('new/deep/x', 'x')];
process.stdout.write(JSON.stringify({ tooLarge, left, freed, readOnly, entries: entries() }));
