import { openRoots } from '../../../src/builtin/filesystem/places/roots.ts';
import { writeFileTool } from '../../../src/builtin/filesystem/write-file.ts';

// Writes files as user 1000 with the given groups, and prints the texts of the results.
const [root = '', groups = '', ...paths] = process.argv.slice(2);
const gids = groups.split(',').map(Number);
const tool = writeFileTool({ roots: await openRoots([root]), maxFileBytes: 100 });
process.setgroups?.(gids);
process.setgid?.(gids[0] ?? 0);
process.setuid?.(1000);
const { signal } = new AbortController();
const texts: string[] = [];
for (const path of paths) {
  const result = await tool.run({ path, content: 'new' }, signal).catch((thrown: Error) => thrown.message);
  texts.push(JSON.stringify(result));
}
process.stdout.write(JSON.stringify(texts.map((text) => text.replaceAll('\\"', '"'))));
