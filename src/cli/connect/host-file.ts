import { rm, rmdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Exported } from '../../config/hosts/host-format.ts';
import type { ApplicationName, HostFile } from '../../config/hosts/hosts.ts';
import { HeddleError } from '../../core/errors.ts';
import { editFile, readTextFile } from '../../files/edit-file.ts';
import { followLinks } from '../../files/follow-links.ts';
import { PRIVATE_FILE } from '../../files/private-file.ts';
import { noteAct } from '../acts.ts';
import { problemError } from '../edit/problem-error.ts';
import { filesOf } from '../input/choose-host.ts';

/** The file of an application that `heddle connect` edits. */
export interface HostTarget extends HostFile {
  readonly host: ApplicationName;
}

/** The text of a host's file; '' if there is none. */
export interface HostText {
  readonly text: string;
  readonly existed: boolean;
}

const WRITE_BITS = 0o222;
const OTHERS_BITS = 0o044;

/** Returns the user's own file of a host: the first that exists, else the first. */
export async function hostTarget(host: ApplicationName, projectFolder: string): Promise<HostTarget> {
  const files = filesOf(projectFolder, host).filter(({ scope }) => scope === 'user');
  const existing = await Promise.all(files.map(async ({ file }) => (await statOf(file)) !== undefined));
  const chosen = files[Math.max(existing.indexOf(true), 0)];
  if (chosen === undefined) throw new HeddleError('INTERNAL', `${host} has no file of the user.`);
  return { ...chosen, host };
}

/** Reads a host's file. */
export async function readHostText(file: string): Promise<HostText> {
  const text = await readTextFile(file);
  return { text, existed: (await statOf(file)) !== undefined };
}

/** Throws CONFIG_INVALID for a file without write permission: a rename would replace it all the same. */
export async function requireWritable(file: string): Promise<void> {
  const found = await statOf(file);
  if (found === undefined || (found.mode & WRITE_BITS) !== 0) return;
  throw new HeddleError('CONFIG_INVALID', `${file} is read-only, so it was not changed.`, {
    fix: `Run \`chmod u+w\` on it, or change it where it is generated.`,
  });
}

/** Tells whether the mode of a file lets other users read it. */
export async function isReadableByOthers(file: string): Promise<boolean> {
  return (((await statOf(file))?.mode ?? 0) & OTHERS_BITS) !== 0;
}

/** Replaces a host's file, if it still has the text that the diff was made from. */
export async function replaceHostText(file: string, expected: HostText, text: string): Promise<void> {
  await requireWritable(file);
  const edit = (before: string): string => {
    if (before === expected.text) return text;
    throw changedMeanwhile(file);
  };
  await editFile(file, edit, { newFileMode: PRIVATE_FILE });
  if (text !== expected.text) noteAct({ file });
}

export const changedMeanwhile = (file: string): HeddleError =>
  new HeddleError('CONFIG_INVALID', `${file} was changed by another program meanwhile, so it was not written.`, {
    fix: 'Run the command again to see the new difference.',
  });

/** Removes a file that connect created, and the folders that it created and that are empty. */
export async function removeHostFile(file: string, createdFolder: string | undefined): Promise<void> {
  const target = await followLinks(file);
  await rm(target, { force: true });
  noteAct({ removed: file });
  if (createdFolder === undefined) return;
  for (let folder = dirname(target); folder.startsWith(createdFolder); folder = dirname(folder)) {
    const isRemoved = await rmdir(folder).then(
      () => true,
      () => false,
    );
    if (!isRemoved) return;
  }
}

/** Returns the topmost folder that has to be created for a file; undefined if its folder exists. */
export async function firstMissingFolder(file: string): Promise<string | undefined> {
  let missing: string | undefined;
  let folder = dirname(await followLinks(file));
  while ((await statOf(folder)) === undefined && folder !== dirname(folder)) {
    missing = folder;
    folder = dirname(folder);
  }
  return missing;
}

/** Returns the text of a successful conversion. Throws its first error otherwise. */
export function requireText({ text, problems }: Exported): string {
  const problem = problems.find(({ level }) => level === 'error');
  if (problem !== undefined) throw problemError(problem);
  return text;
}

const statOf = (file: string) =>
  stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
  });
