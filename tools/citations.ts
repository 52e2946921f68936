import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const CITATION = /\bverifies\(\s*'([^']+)'/g;
const LIST = 'test/requirements.ts';

/** Finds the files that cite each requirement with `verifies`. Keys are ids; paths are relative to the root and sorted. */
export function findCitations(root: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const file of sources(root)) {
    const text = readFileSync(join(root, file), 'utf8');
    for (const id of new Set([...text.matchAll(CITATION)].map((match) => match[1] ?? ''))) {
      found.set(id, [...(found.get(id) ?? []), file]);
    }
  }
  return found;
}

function sources(root: string): readonly string[] {
  return ['src', 'test']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
    )
    .filter((file) => file.endsWith('.ts') && file !== LIST)
    .sort();
}
