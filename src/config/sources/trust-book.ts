import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { JsonObject } from '../../core/call.ts';
import { canonicalJson, isObject, parseJson } from '../../core/json.ts';
import { editFile } from '../../files/edit-file.ts';
import { trustFile } from './trust-file.ts';

/** The trusted things of one project, with their hashes. */
type Page = Readonly<Record<string, string>>;

/** The user's trust decisions: by project folder, thing, and the hash of its content. A changed hash is untrusted. */
export interface TrustBook {
  trusts(project: string, thing: string, hash: string): boolean;
}

// These fields change neither the program nor the treatment of its calls. `priority` does: it attracts calls of a pool.
const NOT_HASHED = { enabled: undefined, description: undefined };

/** Returns the hash of a server, connector or group of settings as it is written. */
export const trustHash = (written: JsonObject): string =>
  createHash('sha256')
    .update(canonicalJson({ ...written, ...NOT_HASHED }))
    .digest('hex');

/** Reads the trust decisions. If the file cannot be read, nothing is trusted. */
export async function openTrustBook(home: string): Promise<TrustBook> {
  const pages = readPages(await readFile(trustFile(home), 'utf8').catch(() => ''));
  return {
    trusts(project, thing, hash) {
      const page = Object.hasOwn(pages, project) ? pages[project] : undefined;
      return page !== undefined && Object.hasOwn(page, thing) && page[thing] === hash;
    },
  };
}

/** Records that the user trusts these things of a project, each with its hash. */
export function recordTrust(home: string, project: string, trusted: Page): Promise<void> {
  return changePage(home, project, (page) => ({ ...page, ...trusted }));
}

/** Removes all trust decisions about a project. */
export function forgetTrust(home: string, project: string): Promise<void> {
  return changePage(home, project, () => ({}));
}

async function changePage(home: string, project: string, change: (page: Page) => Page): Promise<void> {
  const edit = (text: string) => {
    const pages = readPages(text);
    return `${JSON.stringify({ ...pages, [project]: change(pages[project] ?? {}) }, null, 2)}\n`;
  };
  await editFile(trustFile(home), edit, { home });
}

function readPages(text: string): Record<string, Page> {
  try {
    const pages = parseJson(text);
    return isObject(pages) ? (pages as Record<string, Page>) : {};
  } catch {
    return {};
  }
}
