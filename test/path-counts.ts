import { readFile } from 'node:fs/promises';
import type { AuditRecord } from '../src/store/audit-log.ts';
import { CASES } from './paths.ts';

/** Counts the requests that a server got, by kind and case. */
export async function countsIn(file: string): Promise<Readonly<Record<string, number>>> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return tally(text.split('\n').filter(Boolean));
}

/** Counts the opening records with a decision, by kind and case. Those of allowed calls are the calls that were sent. */
export const openedIn = (records: readonly AuditRecord[], decision: string) =>
  tally(
    records
      .filter(({ phase, detail }) => phase === 'intent' && detail.decision === decision)
      .map(({ name, detail }) => `${detail.kind ?? 'tool'} ${name}`),
  );

export const tally = (names: readonly string[]) =>
  Object.fromEntries([...Map.groupBy(names, caseOf)].map(([key, all]) => [key, all.length]));

/** Returns `tool allowed` for `tool mcp__counter__allowed`, and likewise for URIs. */
const caseOf = (line: string) => `${line.split(' ')[0]} ${CASES.find((one) => line.includes(one))}`;
