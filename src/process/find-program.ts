import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';

/** The file of a command, or why it cannot be started. */
export type ProgramFound =
  | { readonly file: string }
  | { readonly missing: true }
  /** The file exists but is not executable. */
  | { readonly forbidden: string };

export interface Search {
  /** A list of folders in the format of `$PATH`; default: /usr/bin and /bin. */
  readonly path?: string | undefined;
  /** The working directory of the program. */
  readonly cwd?: string | undefined;
}

const DEFAULT_PATH = '/usr/bin:/bin';

/** Finds the file of a command by the rules of execvp. */
export async function findProgram(command: string, { path, cwd = process.cwd() }: Search): Promise<ProgramFound> {
  const folders = command.includes('/') ? [''] : (path || DEFAULT_PATH).split(delimiter);
  let forbidden: string | undefined;
  for (const folder of folders) {
    const written = folder === '' ? command : join(folder, command);
    const file = isAbsolute(written) ? written : resolve(cwd, written);
    const found = await inspect(file);
    if (found === 'runs') return { file };
    if (found === 'forbidden') forbidden ??= file;
  }
  return forbidden === undefined ? { missing: true } : { forbidden };
}

async function inspect(file: string): Promise<'runs' | 'forbidden' | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (!found) return undefined;
  if (!found.isFile()) return 'forbidden';
  return access(file, constants.X_OK).then(
    () => 'runs' as const,
    () => 'forbidden' as const,
  );
}
