// Writes several files in a loop until it is killed, and prints one byte per finished write. Arguments: folder, files.
import { openRoots } from '../../../src/builtin/filesystem/places/roots.ts';
import { writeFileTool } from '../../../src/builtin/filesystem/write-file.ts';

const [folder = '', files = '1'] = process.argv.slice(2);
const tool = writeFileTool({ roots: await openRoots([folder]), maxFileBytes: 1_000_000 });
const { signal } = new AbortController();

async function writeForEver(file: number): Promise<never> {
  for (let count = 0; ; count++) {
    const letter = String.fromCharCode(97 + (count % 26));
    await tool.run({ path: `file-${file}`, content: letter.repeat(100_000 + (count % 26)) }, signal);
    process.stdout.write('.');
  }
}

await Promise.all(Array.from({ length: Number(files) }, (_, file) => writeForEver(file)));
