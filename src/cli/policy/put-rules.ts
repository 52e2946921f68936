import type { Config } from '../../config/config.ts';
import { RULE_EFFECTS, type RuleEffect, withRule } from '../../config/edit/edit-rules.ts';
import { emptyFile } from '../../config/edit/edit-servers.ts';
import { type PermissionRule, rulesInForce } from '../../config/permission-rules.ts';
import { readConfig } from '../../config/read-config.ts';
import { HeddleError } from '../../core/errors.ts';
import type { OverridingRule } from '../../core/records/policy.ts';
import { unmatchedRule } from '../../core/text/unmatched-rule.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import type { Heddle } from '../../heddle.ts';
import type { Input } from '../command.ts';
import { changeFile } from '../edit/change-file.ts';
import { knownNames, requireRule } from '../edit/check-rule.ts';
import { keepTrust, type RuleFile, ruleFileFor } from '../edit/rule-files.ts';
import { writeSchema } from '../edit/write-schema.ts';
import { localCaller } from '../local-caller.ts';
import { printApprovals } from '../print/print-approvals.ts';
import { notice } from '../print/print-line.ts';
import { openOptions, withHeddle } from '../with-heddle.ts';

const PAST: Readonly<Record<RuleEffect, string>> = { allow: 'Allowed', ask: 'Approval is needed for', deny: 'Denied' };

/** Writes rules into a file, unless a stronger rule of another place would leave one of them without effect. */
export async function putRules(effect: RuleEffect, rules: readonly string[], input: Input): Promise<number> {
  for (const rule of rules) requireRule(rule);
  const before = await readConfig(openOptions(input));
  const target = await ruleFileFor(before, input);
  const inForce = await rulesInForce(before);
  await withHeddle(idleOptions(input), async (heddle) => {
    await heddle.catalog.list(localCaller(), { waitMs: 0, limit: 1 }); // Makes the built-in tools known.
    for (const rule of rules) await requireEffect({ effect, rule, file: target.file, inForce }, heddle);
    await noticeUnmatched(rules, inForce, heddle);
  });
  const { after } = await changeFile(
    {
      file: target.file,
      edit: (text) =>
        rules.reduce(
          (edited, rule) => withRule(edited, effect, rule),
          text.trim() === '' ? emptyFile(target.schema) : text,
        ),
      report: { effect, rules, scope: target.scope },
      summary: `${PAST[effect]} ${rules.join(', ')} in ${target.file} (${target.scope}).`,
    },
    input,
  );
  if (input.flag('dry-run')) return 0;
  const { scope } = target;
  if (scope !== 'config') await writeSchema({ ...target, scope, foreign: false }, after);
  await settleTrust(target, before, input);
  if (effect !== 'deny') await noticeLeft(rules, input);
  return 0;
}

interface Wanted {
  readonly effect: RuleEffect;
  readonly rule: string;
  readonly file: string;
  readonly inForce: readonly PermissionRule[];
}

/** Throws CONFIG_INVALID, which names the stronger rule, if a new rule would have no effect. */
async function requireEffect({ effect, rule, file, inForce }: Wanted, heddle: Heddle): Promise<void> {
  // Writing the rule removes it from the other lists of the same file, but not of others.
  const isLeft = (other: RuleEffect) =>
    inForce.every((one) => one.key !== `permissions.${other}` || one.rule !== rule || one.file === file);
  const leaves = RULE_EFFECTS.filter((other) => other !== effect && isLeft(other));
  const stronger = await heddle.policy.overriding(localCaller(), { effect, pattern: rule, leaves });
  if (stronger === undefined) return;
  const at = stronger.at === undefined ? '' : ` (${stronger.at.file}:${stronger.at.line})`;
  throw new HeddleError(
    'CONFIG_INVALID',
    `${effect} ${rule} was not written, because it would have no effect: ${stronger.rule}${at} is stronger. ${stronger.reason}`,
    { fix: fixFor(stronger), details: { rule: stronger.rule } },
  );
}

function fixFor({ rule, effect, at }: OverridingRule): string {
  const [, pattern] = /^permissions\.(?:ask|deny): (.+)$/.exec(rule) ?? [];
  if (pattern !== undefined)
    return `Remove that first: \`${quoteCommand(['heddle', 'permissions', 'forget', pattern])}\`.`;
  if (rule === 'built-in' && effect === 'ask') return 'Leave it out: each call of the tool is approved by itself.';
  if (rule === 'built-in') return 'Deny the tool, or turn the built-in server off with `builtins` in heddle.json.';
  if (rule === 'managed settings') return 'Ask the administrator of this machine.';
  return at === undefined ? `Change \`${rule}\` first.` : `Change it there first: ${at.file}:${at.line}.`;
}

/** Prints a warning for each new rule that matches nothing known. */
async function noticeUnmatched(
  rules: readonly string[],
  inForce: readonly PermissionRule[],
  heddle: Heddle,
): Promise<void> {
  const listed = new Set(inForce.map(({ rule }) => rule));
  const fresh = rules.filter((rule) => !listed.has(rule));
  if (fresh.length === 0) return;
  const known = await knownNames(heddle, localCaller());
  const warnings = fresh.flatMap((rule) => unmatchedRule(rule, known) ?? []);
  for (const warning of warnings) notice(warning);
}

/** Prints the approvals that the servers of these rules still need. */
async function noticeLeft(rules: readonly string[], input: Input): Promise<void> {
  const counts = await withHeddle(idleOptions(input), (heddle) => heddle.approvalCounts(localCaller()));
  const isConcerned = (group: string) => rules.some((rule) => `${rule}__`.startsWith(`mcp__${group}__`));
  for (const count of counts.filter(({ group }) => isConcerned(group))) {
    if (count.needApproval === 0) notice(`No tool of ${count.group} asks for approval.`);
    printApprovals(count, input.text('config'));
  }
}

/** Returns options to read the catalog as it is known, without starting a server. */
const idleOptions = (input: Input) => ({ ...openOptions(input), autoConnect: false });

/** Keeps the trust in an edited file, and returns the configuration afterwards. */
export async function settleTrust(target: RuleFile, before: Config, input: Input): Promise<Config> {
  const after = await readConfig(openOptions(input));
  await keepTrust(target, before, after);
  return after;
}
