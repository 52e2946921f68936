import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { JsonObject } from '../../src/core/call.ts';

const read = (name: string): JsonObject =>
  parse(readFileSync(join(import.meta.dirname, '..', 'workflow', `${name}.yaml`), 'utf8'));

const NAMES = ['every-step', 'nested-step', 'held-steps', 'hooked-step'];

/** The definitions of the workflows that call the ledger. */
export const LEDGER_WORKFLOWS: JsonObject = Object.fromEntries(NAMES.map((name) => [name, read(name)]));

/** The input of the run with this number. Every fifth asks for an approval, every seventh fails at its end. */
export const inputOf = (n: number) => ({ n, asks: n % 5 === 0, fails: n % 7 === 3 });

const ACTS = ['reserve', 'group', 'one', 'sink', 'nested', 'script', 'instead', 'guarded', 'last'];

/** The keys of the calls that a whole run makes once each, since the server does not treat two as one. */
export function expectedActs(n: number): readonly string[] {
  const items = ['items/0', 'items/1', 'items/2', 'rounds/0', 'rounds/1', n % 2 === 0 ? 'even' : 'odd'];
  return [...ACTS, ...items].map((step) => `${n}/${step}`);
}

/** The keys of the compensations of a run. */
export const expectedUndos = (n: number): readonly string[] => (inputOf(n).fails ? [`${n}/reserve`, `${n}/tag`] : []);
