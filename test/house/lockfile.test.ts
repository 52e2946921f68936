import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './temporary-tree.ts';

interface Locked {
  readonly integrity?: string;
  readonly link?: boolean;
  readonly resolved?: string;
}

const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, Locked>>;
};
/** The packages that npm downloads. Links and their folders are in this repository. */
const downloaded = Object.entries(packages).filter(([path, { link }]) => path.includes('node_modules/') && !link);

it('has an integrity hash for every downloaded package, other platforms included', () => {
  const unlocked = downloaded.filter(([, { integrity }]) => !/^sha(256|384|512)-/.test(integrity ?? ''));
  expect(unlocked.map(([path]) => path)).toEqual([]);
  expect(downloaded.length).toBeGreaterThan(100);
});

it('names no registry, so that each user downloads from the configured one', () => {
  expect(downloaded.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
});
