import type { Config } from '../../config/config.ts';
import { type RuleEffect, withoutRule, withRule, writtenRules } from '../../config/edit/edit-rules.ts';
import { emptyFile } from '../../config/edit/edit-servers.ts';
import { type PermissionRule, rulesInForce } from '../../config/permission-rules.ts';
import { readConfig } from '../../config/read-config.ts';
import type { Settings } from '../../config/schema/schema.ts';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { readTextFile } from '../../files/edit-file.ts';
import { CONFIG_OPTION, type Command, type Input, JSON_OPTION, TRUST_OPTION } from '../command.ts';
import { changeFile, DRY_RUN_OPTION, requireJson } from '../edit/change-file.ts';
import { knownNames, requireRule, unmatchedRule } from '../edit/check-rule.ts';
import { SCOPE_OPTION } from '../edit/edit-scope.ts';
import { keepTrust, type RuleFile, ruleFileFor, ruleFiles } from '../edit/rule-files.ts';
import { writeSchema } from '../edit/write-schema.ts';
import { localCaller } from '../local-caller.ts';
import { printApprovals } from '../print/print-approvals.ts';
import { printJson } from '../print/print-json.ts';
import { notice } from '../print/print-line.ts';
import { printProblems } from '../print/print-problems.ts';
import { printTable } from '../print/print-table.ts';
import { openOptions, withHeddle } from '../with-heddle.ts';

const put = (effect: RuleEffect) => (input: Input, rules: readonly string[]) => putRules(effect, rules, input);
const VERBS = { allow: put('allow'), ask: put('ask'), deny: put('deny'), remove: removeRules } as const;
type Verb = keyof typeof VERBS;

export const managePermissions: Command = {
  summary: 'Show the rules that allow, ask for approval or deny; add or remove one.',
  usage: 'heddle permissions | heddle permissions allow|ask|deny|remove RULE… [--scope SCOPE] [--dry-run]',
  examples: [
    'heddle permissions',
    'heddle permissions allow mcp__playwright',
    'heddle permissions deny mcp__github__delete_repository --scope project',
    'heddle permissions remove mcp__playwright --dry-run',
  ],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: {
    scope: { ...SCOPE_OPTION, help: `${SCOPE_OPTION.help} (a new rule: user)` },
    'dry-run': DRY_RUN_OPTION,
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
    json: JSON_OPTION,
  },
  async run(input) {
    const [verb, ...rules] = input.positionals;
    if (verb === undefined || verb === 'list') return listRules(input);
    if (!Object.hasOwn(VERBS, verb)) throw unknownVerb(verb);
    if (rules.length === 0) {
      throw new HeddleError('USAGE_INVALID', 'No rule was given.', {
        fix: `Name one: \`heddle permissions ${verb} mcp__server\` or \`mcp__server__tool\`.`,
      });
    }
    return VERBS[verb as Verb](input, rules);
  },
};

const MODES: Readonly<Record<Settings['mode'], string>> = {
  guarded: 'tools that are destructive, of high risk or that require approval ask, and so do sensitive arguments',
  strict: 'every external tool asks',
  open: 'nothing asks',
};

async function listRules(input: Input): Promise<number> {
  const config = await readConfig(openOptions(input));
  const { mode } = config.settings;
  const rules = await rulesInForce(config);
  if (input.flag('json')) printJson({ mode, rules });
  else {
    if (rules.length > 0) printTable(['EFFECT', 'RULE', 'SETTING', 'FROM'], rules.map(toCells));
    notice(
      `${rules.length === 0 ? 'There are no rules. ' : ''}Where no rule matches, mode ${mode} decides: ${MODES[mode]}.`,
    );
    printProblems(config.problems.filter(({ server }) => server === undefined));
  }
  return 0;
}

const toCells = ({ effect, rule, key, scope, file, line }: PermissionRule) => [
  effect,
  rule,
  key,
  file === undefined ? scope : `${scope} ${file}:${line}`,
];

async function putRules(effect: RuleEffect, rules: readonly string[], input: Input): Promise<number> {
  for (const rule of rules) requireRule(rule);
  const before = await readConfig(openOptions(input));
  const target = await ruleFileFor(before, input);
  await noticeUnmatched(rules, before, input);
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
  await settle(target, before, input);
  if (effect !== 'deny') await noticeLeft(rules, input);
  return 0;
}

const PAST: Readonly<Record<RuleEffect, string>> = { allow: 'Allowed', ask: 'Approval is needed for', deny: 'Denied' };

/** Keeps the trust in an edited file, and returns the configuration afterwards. */
async function settle(target: RuleFile, before: Config, input: Input): Promise<Config> {
  const after = await readConfig(openOptions(input));
  await keepTrust(target, before, after);
  return after;
}

/** Prints a warning for each new rule that matches nothing known. */
async function noticeUnmatched(rules: readonly string[], before: Config, input: Input): Promise<void> {
  const listed = new Set((await rulesInForce(before)).map(({ rule }) => rule));
  const fresh = rules.filter((rule) => !listed.has(rule));
  if (fresh.length === 0) return;
  const known = await withHeddle(idleOptions(input), (heddle) => knownNames(heddle, localCaller()));
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

/** Options to read the catalog as it is known, without starting a server. */
const idleOptions = (input: Input) => ({ ...openOptions(input), autoConnect: false });

async function removeRules(input: Input, rules: readonly string[]): Promise<number> {
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
  const after = await settle(target, before, input);
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
    fix: guess === undefined ? 'Run `heddle permissions` to see all.' : `Did you mean \`${guess}\`?`,
  });
}

function unknownVerb(verb: string): HeddleError {
  const guess = verb.startsWith('mcp__') ? undefined : closest(verb, [...Object.keys(VERBS), 'list']);
  const fix =
    guess === undefined
      ? 'Use allow, ask, deny or remove and a rule.'
      : `Did you mean \`heddle permissions ${guess}\`?`;
  return new HeddleError('USAGE_INVALID', `${verb} is none of allow, ask, deny and remove.`, { fix });
}
