import { realpath } from 'node:fs/promises';
import type { Json, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { canonicalJson, isObject } from '../../core/json.ts';
import { readTextFile } from '../../files/edit-file.ts';
import type { Problem } from '../config.ts';
import { TREATMENT_DEFAULTS } from '../schema/defaults.ts';
import type { Imported } from './host-format.ts';
import { HOSTS, type HostFile } from './hosts.ts';

/** An existing file of a host, with its servers. */
export interface ImportableFile extends HostFile, Imported {}

/** Reads the existing files of hosts. Errors are listed in `problems`, not thrown. */
export async function findImports(files: readonly HostFile[]): Promise<readonly ImportableFile[]> {
  const found = await Promise.all((await withoutCopies(files)).map(readHostFile));
  return found.filter((one) => one !== undefined);
}

// In the home folder the project's file is the user's file, perhaps by another path. The user's comes first.
async function withoutCopies(files: readonly HostFile[]): Promise<readonly HostFile[]> {
  const keys = await Promise.all(
    files.map(async ({ host, file, at }) => JSON.stringify([host, at, await realpath(file).catch(() => file)])),
  );
  return files.filter((_, index) => keys.indexOf(keys[index] ?? '') === index);
}

async function readHostFile(where: HostFile): Promise<ImportableFile | undefined> {
  try {
    const text = await readTextFile(where.file);
    return text.trim() === '' ? undefined : { ...where, ...HOSTS[where.host].from(text, where) };
  } catch (error) {
    if (!HeddleError.is(error)) throw error;
    const problem: Problem = { level: 'error', code: 'CONFIG_INVALID', message: error.message, fix: error.fix };
    return { ...where, servers: {}, notes: [], problems: [problem] };
  }
}

export type Comparison = 'new' | 'same' | 'different';

/** Compares an entry with the configured one of the same name; fields with default values are ignored. */
export function compareEntry(entry: JsonObject, configured: Json | undefined): Comparison {
  if (configured === undefined) return 'new';
  return isObject(configured) && meaning(configured) === meaning(entry) ? 'same' : 'different';
}

function meaning({ type, ...entry }: JsonObject): string {
  const fields = Object.entries(entry).filter(([name, value]) => {
    const text = canonicalJson(value);
    return text !== '{}' && !(name === 'args' && text === '[]') && text !== canonicalJson(presetOf(name));
  });
  return canonicalJson({
    ...Object.fromEntries(fields),
    type: type ?? (entry.command === undefined ? 'http' : 'stdio'),
  });
}

function presetOf(name: string): Json {
  return Object.hasOwn(TREATMENT_DEFAULTS, name)
    ? (TREATMENT_DEFAULTS[name as keyof typeof TREATMENT_DEFAULTS] as Json)
    : {};
}
