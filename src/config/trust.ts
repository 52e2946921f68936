import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject } from '../core/call.ts';
import { canonicalJson, isObject, parseJson } from '../core/json.ts';
import { replaceFile } from './edit-file.ts';

/**
 * What the user has agreed to, by project folder, thing and the hash of what it
 * said then: a changed command is a new question.
 */
export interface TrustBook {
  trusts(project: string, thing: string, hash: string): boolean;
}

const fileIn = (home: string) => join(home, 'trust.json');

/** The hash of what would be run or put in force: whatever could change what happens changes it. */
export const trustHash = (written: JsonObject): string =>
  createHash('sha256').update(canonicalJson(written)).digest('hex');

/** Reads what has been agreed to. A book that cannot be read agrees to nothing. */
export async function openTrustBook(home: string): Promise<TrustBook> {
  const pages = await readPages(home);
  return {
    trusts: (project, thing, hash) => Object.hasOwn(pages, project) && pages[project]?.[thing] === hash,
  };
}

/** Remembers agreements, keyed by thing; `undefined` takes one back. */
export async function writeTrust(
  home: string,
  project: string,
  agreements: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const pages = await readPages(home);
  const page = { ...pages[project], ...agreements };
  await replaceFile(fileIn(home), `${JSON.stringify({ ...pages, [project]: page }, null, 2)}\n`);
}

async function readPages(home: string): Promise<Record<string, Record<string, string | undefined>>> {
  try {
    const pages = parseJson(await readFile(fileIn(home), 'utf8'));
    return isObject(pages) ? (pages as Record<string, Record<string, string>>) : {};
  } catch {
    return {};
  }
}
