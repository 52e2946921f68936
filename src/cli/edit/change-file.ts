import { previewText } from '../../config/edit/preview.ts';
import { parseDocument } from '../../config/read/parse-document.ts';
import { HeddleError } from '../../core/errors.ts';
import { type Edited, editFile, readTextFile } from '../../files/edit-file.ts';
import { homeFolder } from '../../files/home-folder.ts';
import { noteAct } from '../acts.ts';
import type { Input } from '../command.ts';
import { diffText, printDiff } from '../print/print-diff.ts';
import { printJson } from '../print/print-json.ts';
import { notice, print } from '../print/print-line.ts';

export interface FileChange {
  readonly file: string;
  readonly edit: (before: string) => string;
  /** Printed with `--json`. */
  readonly report: Readonly<Record<string, unknown>>;
  /** Printed without `--json`. */
  readonly summary: string;
}

export const DRY_RUN_OPTION = { type: 'boolean', help: 'Show the change without making it' } as const;

/** A change that was made, or would be made. */
export interface AppliedChange extends Edited {
  readonly changed: boolean;
  /** The texts without secrets. */
  readonly shown: Edited;
}

/** Changes a configuration file; a dry run only computes the change. */
export async function applyChange(
  { file, edit }: Pick<FileChange, 'file' | 'edit'>,
  dryRun: boolean,
): Promise<AppliedChange> {
  const checked = (before: string) => edit(requireJson(file, before));
  const { before, after } = dryRun
    ? await readTextFile(file).then((text) => ({ before: text, after: checked(text) }))
    : await editFile(file, checked, { home: homeFolder(process.env) });
  const shown = { before: previewText(before), after: previewText(after) };
  const changed = before !== after;
  if (changed && !dryRun) noteAct({ file, diff: diffText(file, shown.before, shown.after) });
  return { before, after, changed, shown };
}

/** Prints the summary of a change; of a dry run the diff. */
export function printChange(
  { file, summary, dryRun }: { readonly file: string; readonly summary: string; readonly dryRun: boolean },
  { changed, shown }: AppliedChange,
): void {
  if (!dryRun) print(summary);
  else printDiff(file, shown.before, shown.after);
  if (dryRun && changed && shown.before === shown.after) notice('The change is in values that are not shown.');
}

/** Changes a configuration file and reports it; with `--dry-run` only shows the diff. */
export async function changeFile({ file, edit, report, summary }: FileChange, input: Input): Promise<Edited> {
  const dryRun = input.flag('dry-run');
  const change = await applyChange({ file, edit }, dryRun);
  const { changed, shown } = change;
  if (!input.flag('json')) printChange({ file, summary, dryRun }, change);
  else printJson({ ...report, file, changed, ...(dryRun && { diff: diffText(file, shown.before, shown.after) }) });
  return change;
}

/** Returns the text if it is valid JSON; else throws the error with its position. */
export function requireJson(file: string, text: string): string {
  const document = text.trim() === '' ? { root: {} } : parseDocument(file, text.replace(/^\uFEFF/, ''));
  if ('root' in document) return text;
  const { code, message, fix, at } = document;
  throw new HeddleError(code, `${file}:${at?.line}:${at?.column}: ${message}`, { fix });
}
