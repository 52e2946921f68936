import { access } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import { readTextFile } from '../../files/edit-file.ts';
import { resolveLinks } from '../sources/project-folder.ts';
import { writtenServers } from './edit-servers.ts';

export const EDIT_SCOPES = ['local', 'project', 'user'] as const;
export type EditScope = (typeof EDIT_SCOPES)[number];

/** A file that commands may change. */
export interface EditTarget {
  readonly scope: EditScope;
  readonly file: string;
  /** True for a file that other programs read too. */
  readonly foreign: boolean;
  /** The value of `$schema` in a new file; absent for a file of other programs. */
  readonly schema?: string;
}

export interface EditFolders {
  readonly projectFolder: string;
  /** Heddle's folder of this user. */
  readonly home: string;
}

const PROJECT_MARKERS = ['heddle.json', '.mcp.json', '.heddle', '.git'];

/** Lists the files that commands change, highest precedence first. */
export async function editTargets({ projectFolder, home }: EditFolders): Promise<readonly EditTarget[]> {
  const user = { scope: 'user', file: join(home, 'heddle.json'), foreign: false, schema: SAME_FOLDER } as const;
  if ((await resolveLinks(projectFolder)) === (await resolveLinks(home))) return [user];
  const inProject = (name: string) => join(projectFolder, name);
  return [
    { scope: 'local', file: inProject('.heddle/local.json'), foreign: false, schema: SAME_FOLDER },
    { scope: 'project', file: inProject('heddle.json'), foreign: false, schema: `./.heddle/${SCHEMA_FILE}` },
    { scope: 'project', file: inProject('.mcp.json'), foreign: true },
    user,
  ];
}

const SCHEMA_FILE = 'heddle.schema.json';
const SAME_FOLDER = `./${SCHEMA_FILE}`;

/** Returns the path of the JSON Schema that a target's `$schema` refers to. */
export function schemaFileOf({ file, schema }: EditTarget): string | undefined {
  return schema === undefined ? undefined : resolve(dirname(file), schema);
}

/** Returns the file for a new server: of the given scope, else of the project, else of the user. */
export async function targetFor(folders: EditFolders, given: EditScope | undefined): Promise<EditTarget> {
  const targets = await editTargets(folders);
  const scope = given ?? ((await isProject(folders, targets)) ? 'project' : 'user');
  const ofScope = targets.filter((target) => target.scope === scope);
  const [first] = ofScope;
  if (first === undefined) {
    throw new HeddleError('USAGE_INVALID', `There is no ${scope} scope in Heddle’s own folder.`, {
      fix: 'Run the command in a project, or with `--scope user`.',
    });
  }
  if (await exists(first.file)) return first;
  for (const other of ofScope) if (await exists(other.file)) return other;
  return first;
}

async function isProject({ projectFolder, home }: EditFolders, targets: readonly EditTarget[]): Promise<boolean> {
  if (targets.length === 1) return false;
  const own = await resolveLinks(home);
  for (const marker of PROJECT_MARKERS) {
    const path = join(projectFolder, marker);
    if ((await exists(path)) && (await resolveLinks(path)) !== own) return true;
  }
  return false;
}

/** Returns the file that lists a server; of several, the one in force. Throws NAME_UNKNOWN if none does. */
export async function scopeDefining(
  folders: EditFolders,
  name: string,
  given: EditScope | undefined,
): Promise<EditTarget> {
  const targets = (await editTargets(folders)).filter(({ scope }) => given === undefined || scope === given);
  const known = new Set<string>();
  for (const target of targets) {
    const names = await namesIn(target.file);
    if (names.includes(name)) return target;
    for (const other of names) known.add(other);
  }
  const where = given === undefined ? 'any file that Heddle edits' : `a file of the ${given} scope`;
  const meant = closest(name, known);
  throw new HeddleError('NAME_UNKNOWN', `There is no server \`${name}\` in ${where}.`, {
    fix: meant === undefined ? 'Run `heddle list servers` to see all.' : `Did you mean \`${quoteName(meant)}\`?`,
  });
}

// An unreadable file has no names to edit. A command that edits it reports the error.
async function namesIn(file: string): Promise<readonly string[]> {
  try {
    return [...writtenServers(await readTextFile(file)).keys()];
  } catch {
    return [];
  }
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );
