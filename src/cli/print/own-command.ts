import { existsSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { quoteCommand } from '../../core/text/visible-text.ts';

/** How a user starts this Heddle. */
export interface OwnCommand {
  /** `heddle` if PATH finds it, else the path of its program, quoted for a shell. */
  readonly command: string;
  /** The command that makes `heddle` work in every folder; undefined if it does already, or if this is no clone. */
  readonly install: string | undefined;
}

/** Finds out how a user starts this Heddle. A `heddle` on PATH that is another program does not count. */
export function ownCommand({ PATH = '' }: Readonly<Record<string, string | undefined>>): OwnCommand {
  const root = join(import.meta.dirname, '..', '..', '..');
  const program = join(root, 'bin', 'heddle');
  const isOnPath = PATH.split(delimiter).some((folder) => folder !== '' && isSame(join(folder, 'heddle'), program));
  if (isOnPath) return { command: 'heddle', install: undefined };
  const isClone = existsSync(join(root, 'src'));
  // `npm install -g` would warn about an older Node in ten lines; `npm link` reads the .npmrc of the clone.
  return { command: quoteCommand([program]), install: isClone ? `cd ${quoteCommand([root])} && npm link` : undefined };
}

const isSame = (found: string, program: string) => existsSync(found) && realpathSync(found) === realpathSync(program);
