import type { Config } from '../../config/config.ts';
import { withoutRule, writtenRules } from '../../config/edit/edit-rules.ts';
import { rulesInForce } from '../../config/permission-rules.ts';
import { readConfig } from '../../config/read-config.ts';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import { readTextFile } from '../../files/edit-file.ts';
import type { Input } from '../command.ts';
import { changeFile, requireJson } from '../edit/change-file.ts';
import { type RuleFile, ruleFiles } from '../edit/rule-files.ts';
import { notice } from '../print/print-line.ts';
import { openOptions } from '../with-heddle.ts';
import { settleTrust } from './put-rules.ts';

/** Removes a rule from the file that has it, and names the files that still have it. */
export async function forgetRule(input: Input, rules: readonly string[]): Promise<number> {
  const before = await readConfig(openOptions(input));
  const [rule = '', ...more] = rules;
  if (more.length > 0) throw new HeddleError('USAGE_INVALID', 'One rule to remove at a time.');
  const target = await fileWith(rule, before, input);
  await changeFile(
    {
      file: target.file,
      edit: (text) => withoutRule(text, rule),
      report: { removed: rule, scope: target.scope },
      summary: `Removed ${rule} from ${target.file} (${target.scope}).`,
    },
    input,
  );
  if (input.flag('dry-run')) return 0;
  const after = await settleTrust(target, before, input);
  for (const left of (await rulesInForce(after)).filter((one) => one.rule === rule)) {
    notice(`${left.effect} ${rule} is still in ${left.file}:${left.line}, which is active.`);
  }
  return 0;
}

async function fileWith(rule: string, config: Config, input: Input): Promise<RuleFile> {
  for (const target of await ruleFiles(config, input)) {
    const written = writtenRules(requireJson(target.file, await readTextFile(target.file)));
    if (Object.values(written).some((list) => list.includes(rule))) return target;
  }
  const rules = await rulesInForce(config);
  const elsewhere = rules.find((one) => one.rule === rule && one.file !== undefined);
  if (elsewhere) {
    const { file, line, key } = elsewhere;
    throw new HeddleError('NAME_UNKNOWN', `The rule ${rule} is at ${file}:${line} in \`${key}\`, not in this scope.`, {
      fix: 'Leave `--scope` out, or change that file by hand.',
    });
  }
  const guess = closest(
    rule,
    rules.map((one) => one.rule),
  );
  throw new HeddleError('NAME_UNKNOWN', `There is no rule ${rule}.`, {
    fix: guess === undefined ? 'Run `heddle permissions rules` to see all.' : `Did you mean \`${quoteName(guess)}\`?`,
  });
}
