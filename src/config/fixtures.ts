import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Config } from './config.ts';
import { type LoadOptions, loadConfig } from './load.ts';

export interface Machine {
  readonly folder: string;
  path(name: string): string;
  load(options?: Partial<LoadOptions>): Promise<Config>;
}

/** A folder with a project in `project/` and a user in `user/`; gone when the test ends. */
export async function machineWith(files: Readonly<Record<string, string | Uint8Array | object>>): Promise<Machine> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'heddle-config-')));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = (name: string): string => join(folder, name);
  await mkdir(path('project/.git'), { recursive: true });
  await mkdir(path('user/.heddle'), { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(path(name)), { recursive: true });
    const isText = typeof content === 'string' || content instanceof Uint8Array;
    await writeFile(path(name), isText ? content : JSON.stringify(content, null, 2));
  }
  return {
    folder,
    path,
    load: (options = {}) =>
      loadConfig({ cwd: path('project'), home: path('user/.heddle'), userHome: path('user'), env: {}, ...options }),
  };
}
