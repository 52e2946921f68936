import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { HeddleError } from '../../core/errors.ts';
import type { AuditEntry } from '../../core/records/audit-entry.ts';
import { counted, isOrAre } from '../../core/text/counted.ts';
import { escapeJson } from '../../core/text/visible-text.ts';
import type { AuditApi } from '../../heddle.ts';
import type { Input } from '../command.ts';
import { localCaller } from '../local-caller.ts';
import { notice } from '../print/print-line.ts';
import { readQuery } from './audit-query.ts';
import { csvHead, csvRow } from './csv-row.ts';

const FORMATS = ['jsonl', 'csv'] as const;

/** Writes all matching records to stdout or a file, one batch at a time. */
export async function exportAudit(audit: AuditApi, words: readonly string[], input: Input): Promise<number> {
  const format = FORMATS.find((one) => one === (input.text('format') ?? 'jsonl'));
  if (!format) throw new HeddleError('USAGE_INVALID', '--format has to be jsonl or csv.');
  const query = readQuery(words, input);
  const file = input.text('output');
  const out = file === undefined ? process.stdout : createWriteStream(file, { mode: 0o600 });
  const failed = new Promise<never>((_, reject) => {
    if (file !== undefined) out.once('error', (cause) => reject(notWritten(file, cause)));
  });
  failed.catch(() => {});
  let count = 0;
  const { write, closed } = batchWriter(out);
  const row = format === 'csv' ? csvRow : jsonRow(process.stdout.isTTY && file === undefined);
  if (format === 'csv') await write([csvHead()]);
  for await (const batch of audit.export(localCaller(), query, new AbortController().signal)) {
    count += batch.length;
    await Promise.race([write(batch.map(row)), failed]);
    if (closed.aborted) break;
  }
  if (file !== undefined) {
    await Promise.race([new Promise<void>((resolve) => out.end(() => resolve())), failed]);
    notice(`${counted(count, 'record')} ${isOrAre(count)} in ${file}. ${adviceFor(format, file)}`);
  }
  return 0;
}

interface BatchWriter {
  /** Aborts when the reader is gone. */
  readonly closed: AbortSignal;
  write(texts: readonly string[]): Promise<void>;
}

/** Writes lines and waits for the reader. A pipe that is closed early, as by `| head`, ends the wait without an error. */
export function batchWriter(out: Writable): BatchWriter {
  const closed = new AbortController();
  for (const event of ['error', 'close']) out.once(event, () => closed.abort());
  return {
    closed: closed.signal,
    async write(texts) {
      if (closed.signal.aborted || out.write(`${texts.join('\n')}\n`)) return;
      await once(out, 'drain', { signal: closed.signal }).catch(() => undefined);
    },
  };
}

const jsonRow =
  (isShown: boolean) =>
  (entry: AuditEntry): string =>
    isShown ? escapeJson(JSON.stringify(entry)) : JSON.stringify(entry);

const adviceFor = (format: 'jsonl' | 'csv', file: string) =>
  format === 'csv' ? 'Export as jsonl to verify it later.' : `\`heddle audit verify ${file}\` verifies them.`;

const notWritten = (file: string, cause: Error) =>
  new HeddleError('USAGE_INVALID', `${file} cannot be written: ${cause.message}.`, {
    cause,
    fix: 'Choose another path for --output.',
  });
