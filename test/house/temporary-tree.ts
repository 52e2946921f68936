import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** The folder of package.json. */
export const ROOT = join(import.meta.dirname, '..', '..');

interface Planting {
  /** Files of this repository, copied to the same place. */
  readonly copied?: readonly string[];
  /** Files written for the test: path → text. */
  readonly written?: Readonly<Record<string, string>>;
}

/** Creates a folder with the layout of this repository. Deletes it when the test ends. */
export function temporaryTree({ copied = [], written = {} }: Planting): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-house-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const path of copied) copyFileSync(join(ROOT, path), placeFor(folder, path));
  for (const [path, text] of Object.entries(written)) writeFileSync(placeFor(folder, path), text, { mode: 0o755 });
  return folder;
}

function placeFor(folder: string, path: string): string {
  const place = join(folder, path);
  mkdirSync(dirname(place), { recursive: true });
  return place;
}
