import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { JsonObject } from '../../core/call.ts';
import { canonicalJson, isObject, parseJson } from '../../core/json.ts';
import { editFile } from '../../files/edit-file.ts';
import { trustFile } from './trust-file.ts';

type Page = Readonly<Record<string, string>>;

/** What the user has agreed to: by project folder, thing, and the hash of what it said then. A change asks again. */
export interface TrustBook {
  agrees(project: string, thing: string, hash: string): boolean;
}

// These change neither what runs nor how its calls are treated. `priority` does: it draws the calls of a pool.
const INDIFFERENT = { enabled: undefined, description: undefined };

/** Of what would be run or put in force, as it is written. */
export const trustHash = (written: JsonObject): string =>
  createHash('sha256')
    .update(canonicalJson({ ...written, ...INDIFFERENT }))
    .digest('hex');

/** Reads what has been agreed to. A book that cannot be read agrees to nothing. */
export async function openTrustBook(home: string): Promise<TrustBook> {
  const pages = readPages(await readFile(trustFile(home), 'utf8').catch(() => ''));
  return {
    agrees(project, thing, hash) {
      const page = Object.hasOwn(pages, project) ? pages[project] : undefined;
      return page !== undefined && Object.hasOwn(page, thing) && page[thing] === hash;
    },
  };
}

/** Remembers that the user agrees to these things of a project. */
export function writeAgreements(home: string, project: string, agreed: Page): Promise<void> {
  return changePage(home, project, (page) => ({ ...page, ...agreed }));
}

/** Forgets every agreement about a project. */
export function forgetAgreements(home: string, project: string): Promise<void> {
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
