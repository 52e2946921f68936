import { withRule } from '../../config/edit/edit-rules.ts';
import { editTargets } from '../../config/edit/edit-scopes.ts';
import { emptyFile } from '../../config/edit/edit-servers.ts';
import { readConfig } from '../../config/read-config.ts';
import type { ApprovalCount } from '../../core/records/approval-count.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import { askNo } from '../input/ask.ts';
import { notice, print } from '../print/print-line.ts';
import { applyChange } from './change-file.ts';
import { placesOf } from './edit-scope.ts';

const SHOWN_NAMES = 12;

/** Offers to allow the tools that ask and are neither destructive nor of high risk, and writes them into the user's file. */
export async function offerAllow(counts: readonly ApprovalCount[]): Promise<void> {
  const rules: string[] = [];
  for (const { group, needApproval, allowMild } of counts) {
    if (allowMild.length === 0) continue;
    const more = allowMild.length > SHOWN_NAMES ? `, and ${allowMild.length - SHOWN_NAMES} more` : '';
    const names = `${allowMild.slice(0, SHOWN_NAMES).join(', ')}${more}`;
    const [verb, them] = allowMild.length === 1 ? ['is', 'it'] : ['are', 'them'];
    const which = `${allowMild.length} of the ${needApproval} tools that ask ${verb} neither destructive nor of high risk`;
    const asked = `${group}: ${which}, as the server itself declares: ${names}. Allow ${them} without approval?`;
    if (await askNo(asked)) {
      rules.push(...allowMild);
    }
  }
  if (rules.length > 0) await writeAllowed(rules);
}

async function writeAllowed(rules: readonly string[]): Promise<void> {
  const user = (await editTargets(placesOf(await readConfig()))).find(
    ({ scope, foreign }) => scope === 'user' && !foreign,
  );
  if (user === undefined) {
    const command = quoteCommand(['heddle', 'permissions', 'allow', ...rules]);
    notice(`Nothing was allowed, because there is no file of the user here. \`${command}\` allows it in a project.`);
    return;
  }
  const edit = (before: string): string =>
    rules.reduce((text, rule) => withRule(text, 'allow', rule), before.trim() === '' ? emptyFile(user.schema) : before);
  await applyChange({ file: user.file, edit }, false);
  print(`Allowed ${rules.join(', ')} in ${user.file} (user).`);
}
