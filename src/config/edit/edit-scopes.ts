import { access } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { readTextFile } from '../../files/edit-file.ts';
import { real } from '../sources/project-folder.ts';
import { writtenServers } from './edit-servers.ts';

export const EDIT_SCOPES = ['local', 'project', 'user'] as const;
export type EditScope = (typeof EDIT_SCOPES)[number];

/** A file that commands may change. */
export interface EditTarget {
  readonly scope: EditScope;
  readonly file: string;
  /** Other programs read it too. */
  readonly foreign: boolean;
  /** What `$schema` says in a new file; absent where another program would not know it. */
  readonly schema?: string;
}

export interface EditPlaces {
  readonly projectFolder: string;
  /** Heddle's own folder of this user. */
  readonly home: string;
}

const MARKS = ['heddle.json', '.mcp.json', '.heddle', '.git'];

/** The files that commands change, the first to win first. */
export async function editTargets({ projectFolder, home }: EditPlaces): Promise<readonly EditTarget[]> {
  const user = { scope: 'user', file: join(home, 'heddle.json'), foreign: false, schema: BESIDE } as const;
  if ((await real(projectFolder)) === (await real(home))) return [user];
  const inProject = (name: string) => join(projectFolder, name);
  return [
    { scope: 'local', file: inProject('.heddle/local.json'), foreign: false, schema: BESIDE },
    { scope: 'project', file: inProject('heddle.json'), foreign: false, schema: `./.heddle/${SCHEMA_FILE}` },
    { scope: 'project', file: inProject('.mcp.json'), foreign: true },
    user,
  ];
}

const SCHEMA_FILE = 'heddle.schema.json';
const BESIDE = `./${SCHEMA_FILE}`;

/** Where the JSON Schema that a target's `$schema` names is kept. */
export function schemaFileOf({ file, schema }: EditTarget): string | undefined {
  return schema === undefined ? undefined : resolve(dirname(file), schema);
}

/** Where a new server goes: the scope that was asked for, else the project, else the user. */
export async function targetFor(places: EditPlaces, asked: EditScope | undefined): Promise<EditTarget> {
  const targets = await editTargets(places);
  const scope = asked ?? ((await isProject(places, targets)) ? 'project' : 'user');
  const ofScope = targets.filter((target) => target.scope === scope);
  const [first] = ofScope;
  if (first === undefined) {
    throw new HeddleError('USAGE_INVALID', `There is no ${scope} scope here: this is Heddle’s own folder.`, {
      fix: 'Run the command in a project, or with `--scope user`.',
    });
  }
  if (await exists(first.file)) return first;
  for (const other of ofScope) if (await exists(other.file)) return other;
  return first;
}

async function isProject({ projectFolder, home }: EditPlaces, targets: readonly EditTarget[]): Promise<boolean> {
  if (targets.length === 1) return false;
  const own = await real(home);
  for (const mark of MARKS) {
    const path = join(projectFolder, mark);
    if ((await exists(path)) && (await real(path)) !== own) return true;
  }
  return false;
}

/** The file that has a server of this name; of several the one that is in force. Throws NAME_UNKNOWN. */
export async function scopeDefining(
  places: EditPlaces,
  name: string,
  asked: EditScope | undefined,
): Promise<EditTarget> {
  const targets = (await editTargets(places)).filter(({ scope }) => asked === undefined || scope === asked);
  const known = new Set<string>();
  for (const target of targets) {
    const names = await namesIn(target.file);
    if (names.includes(name)) return target;
    for (const one of names) known.add(one);
  }
  const where = asked === undefined ? 'any file that Heddle edits' : `a file of the ${asked} scope`;
  const meant = closest(name, known);
  throw new HeddleError('NAME_UNKNOWN', `There is no server \`${name}\` in ${where}.`, {
    fix: meant === undefined ? 'Run `heddle list servers` to see all.' : `Did you mean \`${meant}\`?`,
  });
}

// A file that cannot be read has no names that could be edited; whoever edits it is told why.
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
