import { previewText } from '../../config/edit/preview.ts';
import { parseDocument } from '../../config/read/parse-document.ts';
import { HeddleError } from '../../core/errors.ts';
import { type Edited, editFile, readTextFile } from '../../files/edit-file.ts';
import { homeFolder } from '../../files/home-folder.ts';
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

/** Changes a configuration file and reports it; with `--dry-run` only shows the diff. */
export async function changeFile({ file, edit, report, summary }: FileChange, input: Input): Promise<Edited> {
  const checked = (before: string) => edit(requireJson(file, before));
  const dryRun = input.flag('dry-run');
  const changed = dryRun
    ? await readTextFile(file).then((before) => ({ before, after: checked(before) }))
    : await editFile(file, checked, { home: homeFolder(process.env) });
  const before = previewText(changed.before);
  const after = previewText(changed.after);
  if (input.flag('json')) {
    printJson({
      ...report,
      file,
      changed: changed.before !== changed.after,
      ...(dryRun && { diff: diffText(file, before, after) }),
    });
  } else if (!dryRun) print(summary);
  else printDiff(file, before, after);
  if (dryRun && before === after && changed.before !== changed.after) {
    notice('The change is in values that are not shown.');
  }
  return changed;
}

/** Returns the text if it is valid JSON; else throws the error with its position. */
export function requireJson(file: string, text: string): string {
  const document = text.trim() === '' ? { root: {} } : parseDocument(file, text.replace(/^\uFEFF/, ''));
  if ('root' in document) return text;
  const { code, message, fix, at } = document;
  throw new HeddleError(code, `${file}:${at?.line}:${at?.column}: ${message}`, { fix });
}
