import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';

/** Returns the absolute path of a file without symbolic links. A missing file is only made absolute. */
export const configPath = (file: string): Promise<string> => realpath(file).catch(() => resolve(file));
