import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';

/** Where a command is, or what keeps it from being started. */
export type ProgramFound =
  | { readonly file: string }
  | { readonly missing: true }
  /** The file is there, but may not be run. */
  | { readonly forbidden: string };

export interface Search {
  /** As in `$PATH`; without it the two folders that every system has. */
  readonly path?: string | undefined;
  /** The folder that the program would start in. */
  readonly cwd?: string | undefined;
}

const EVERYWHERE = '/usr/bin:/bin';

/** Finds the file that a command stands for, as starting it would. */
export async function findProgram(command: string, { path, cwd = process.cwd() }: Search): Promise<ProgramFound> {
  const folders = command.includes('/') ? [''] : (path || EVERYWHERE).split(delimiter);
  let forbidden: string | undefined;
  for (const folder of folders) {
    const written = folder === '' ? command : join(folder, command);
    const file = isAbsolute(written) ? written : resolve(cwd, written);
    const found = await look(file);
    if (found === 'runs') return { file };
    if (found === 'forbidden') forbidden ??= file;
  }
  return forbidden === undefined ? { missing: true } : { forbidden };
}

async function look(file: string): Promise<'runs' | 'forbidden' | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (!found) return undefined;
  if (!found.isFile()) return 'forbidden';
  return access(file, constants.X_OK).then(
    () => 'runs' as const,
    () => 'forbidden' as const,
  );
}
