import { createReadStream } from 'node:fs';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { AuditEntry, AuditFault, AuditHead, AuditVerification } from '../../core/records/audit-entry.ts';
import type { AuditPhase } from '../audit-log.ts';
import type { SealedRow } from '../tables.ts';
import { readCheckpoint } from './chain-references.ts';
import { describeVerification } from './describe-verification.ts';
import { verifyChains } from './verify-chains.ts';

const BATCH = 1_000;
/** The first row of an export in CSV, also after a spreadsheet has saved it. */
const CSV_HEAD = /^\uFEFF?"?time"?[,;\t]"?segment"?[,;\t]/;
/** A record has at most about 20 KB. */
const MAX_CHARS = 4 * 1024 * 1024;

/** Verifies an export in JSON lines. A complete one ends with the checkpoint that was written for it. */
export async function verifyExport(
  file: string,
  head: AuditHead | undefined,
  signal: AbortSignal,
): Promise<AuditVerification> {
  const invalid: AuditFault[] = [];
  const last = await lastRecord(file, { signal, onInvalid: (fault) => invalid.push(fault) });
  const found = last?.phase === 'checkpoint' ? readCheckpoint(last) : undefined;
  const checkpoint = found?.isExport ? found : undefined;
  if (checkpoint?.isFiltered) throw filtered(file);
  const read = () => batches(file, { signal, onInvalid: () => {} });
  const isPartial = checkpoint?.since !== undefined;
  const verified = await verifyChains({ anchors: read, all: read, isPartial }, head);
  const faults = [...invalid, ...verified.faults, ...(checkpoint ? [] : [cutAfter(last)])];
  const faultCount = verified.faultCount + faults.length - verified.faults.length;
  return describeVerification({ ...verified, faults, faultCount });
}

interface ReadOptions {
  readonly signal: AbortSignal;
  readonly onInvalid: (fault: AuditFault) => void;
}

async function* batches(file: string, options: ReadOptions): AsyncGenerator<readonly SealedRow[]> {
  let rows: SealedRow[] = [];
  for await (const row of recordsOf(file, options)) {
    rows.push(row);
    if (rows.length < BATCH) continue;
    yield rows;
    rows = [];
  }
  yield rows;
}

async function lastRecord(file: string, options: ReadOptions): Promise<SealedRow | undefined> {
  let last: SealedRow | undefined;
  for await (const row of recordsOf(file, options)) last = row;
  return last;
}

async function* recordsOf(file: string, { signal, onInvalid }: ReadOptions): AsyncGenerator<SealedRow> {
  const input = createReadStream(file, { encoding: 'utf8', signal });
  const opened = new Promise<void>((resolve, reject) => input.once('open', () => resolve()).once('error', reject));
  await opened.catch((cause) => {
    throw new HeddleError('USAGE_INVALID', `The export ${file} cannot be read: ${(cause as Error).message}.`, {
      cause,
    });
  });
  let number = 0;
  for await (const text of textLines(input)) {
    number += 1;
    if (number === 1 && CSV_HEAD.test(text)) throw notVerifiable(file);
    if (text.trim() === '') continue;
    const row = toRow(text);
    if (row) yield row;
    else onInvalid({ kind: 'changed', segment: '', sequence: number, message: `Line ${number} is no audit record.` });
  }
}

/** Splits at line feeds only: JSON may contain other line separators. A line that is too long is cut. */
async function* textLines(input: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of input) {
    const parts = chunk.split('\n');
    for (const part of parts.slice(0, -1)) {
      yield rest + part;
      rest = '';
    }
    if (rest.length <= MAX_CHARS) rest += parts.at(-1);
  }
  if (rest !== '') yield rest;
}

/** Parses a record. Its detail is hashed as JSON without blanks, as it was written. */
function toRow(text: string): SealedRow | undefined {
  const found = text.length > MAX_CHARS ? undefined : parse(text);
  if (!isAuditEntry(found)) return undefined;
  const { segment, sequence, hash, link = null, callId, phase, at, caller, via, name, detail } = found;
  const place = { segment, sequence, hash, link };
  return { ...place, call_id: callId, phase, at, caller, via, name, detail: JSON.stringify(detail) };
}

const PHASES: readonly unknown[] = Object.keys({
  ...{ intent: true, hook: true, outcome: true, checkpoint: true },
} satisfies Record<AuditPhase, true>);
const TEXTS = ['segment', 'hash', 'callId', 'caller', 'via', 'name'] as const;

function isAuditEntry(found: unknown): found is AuditEntry & { readonly phase: AuditPhase } {
  if (!isObject(found) || !PHASES.includes(found.phase) || !isObject(found.detail)) return false;
  if (!Number.isSafeInteger(found.sequence) || typeof found.at !== 'number') return false;
  if (found.link !== undefined && typeof found.link !== 'string') return false;
  return TEXTS.every((name) => typeof found[name] === 'string');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const cutAfter = (last: SealedRow | undefined): AuditFault => ({
  kind: 'cut',
  segment: last?.segment ?? '',
  sequence: (last?.sequence ?? 0) + 1,
  message: 'The export does not end with the checkpoint that was written for it.',
});

const notVerifiable = (file: string) =>
  new HeddleError('USAGE_INVALID', `${file} is a CSV export, which cannot be verified: its cells are escaped.`, {
    fix: 'Export with `heddle audit export --format jsonl`, and verify that.',
  });

const filtered = (file: string) =>
  new HeddleError('USAGE_INVALID', `${file} has only some records, so its chains cannot be verified.`, {
    fix: 'Export without conditions other than --since, and verify that.',
  });
