import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './temporary-tree.ts';

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. Tools are found in node_modules. */
export function runCommand(
  command: readonly [string, ...string[]],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Outcome {
  const [name, ...args] = command;
  const path = `${join(ROOT, 'node_modules', '.bin')}:${process.env.PATH}`;
  const { status, stdout, stderr, error } = spawnSync(name, args, {
    cwd: options.cwd ?? ROOT,
    env: { ...process.env, PATH: path, NO_COLOR: '1', ...options.env },
    encoding: 'utf8',
  });
  if (error) throw error;
  return { code: status, stdout, stderr };
}
