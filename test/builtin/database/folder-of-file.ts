import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Creates a folder for all tests of a file. */
export async function folderOfFile() {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-database-'));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
