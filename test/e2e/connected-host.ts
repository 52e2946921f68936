import { lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ApplicationName, HOSTS } from '../../src/config/hosts/hosts.ts';
import { valueAt } from '../../src/config/read/describe-issue.ts';
import type { JsonObject } from '../../src/core/call.ts';
import { type Project, project } from './heddle-command.ts';

/** A user's machine: a home folder with files of hosts, and a project in it. */
export interface HostMachine {
  readonly at: Project;
  /** Returns the path of a file in the user's home. */
  path(name: string): string;
  bytes(name: string): string;
  write(name: string, text: string): void;
  isThere(name: string): boolean;
}

export function hostMachine(
  files: Readonly<Record<string, string>>,
  inProject: Readonly<Record<string, object>> = {},
): HostMachine {
  const at = project(inProject);
  const path = (name: string) => join(dirname(at.folder), name);
  const write = (name: string, text: string) => {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), text);
  };
  for (const [name, text] of Object.entries(files)) write(name, text);
  return {
    at,
    path,
    write,
    // Latin 1 keeps every byte, so that a difference in encoding is seen.
    bytes: (name) => readFileSync(path(name), 'latin1'),
    isThere: (name) => lstatSync(path(name), { throwIfNoEntry: false }) !== undefined,
  };
}

/** Returns the entry `heddle` of a host's file, as the host reads it. */
export function writtenEntry(host: ApplicationName, text: string): JsonObject {
  const value = HOSTS[host].parse(text, { file: 'file' });
  if (!('root' in value)) throw new Error(value.message);
  return valueAt(value.root, [...value.at, 'heddle']) as JsonObject;
}
