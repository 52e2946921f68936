import { previewText } from '../../config/edit/preview.ts';
import { parseDocument } from '../../config/read/parse-document.ts';
import { HeddleError } from '../../core/errors.ts';
import { type Edited, editFile, readTextFile } from '../../files/edit-file.ts';
import { homeFolder } from '../../files/home-folder.ts';
import type { Input } from '../command.ts';
import { diffText, printDiff } from '../print/print-diff.ts';
import { printJson } from '../print/print-json.ts';
import { print, say } from '../print/say.ts';

export interface FileChange {
  readonly file: string;
  readonly edit: (before: string) => string;
  /** What `--json` prints, and the line for people. */
  readonly report: Readonly<Record<string, unknown>>;
  readonly line: string;
}

export const DRY_RUN_OPTION = { type: 'boolean', help: 'Show what would change, and change nothing' } as const;

/** Makes one change to one configuration file and says so; with `--dry-run` shows it instead. */
export async function changeFile({ file, edit, report, line }: FileChange, input: Input): Promise<Edited> {
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
  } else if (!dryRun) print(line);
  else printDiff(file, before, after);
  if (dryRun && before === after && changed.before !== changed.after) {
    say('What would change is in values that are not shown.');
  }
  return changed;
}

/** The text itself when it can be edited; else says where it is broken. */
export function requireJson(file: string, text: string): string {
  const document = text.trim() === '' ? { root: {} } : parseDocument(file, text.replace(/^\uFEFF/, ''));
  if ('root' in document) return text;
  const { code, message, fix, at } = document;
  throw new HeddleError(code, `${file}:${at?.line}:${at?.column}: ${message}`, { fix });
}
