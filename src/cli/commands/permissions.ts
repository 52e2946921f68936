import type { RuleEffect } from '../../config/edit/edit-rules.ts';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { CONFIG_OPTION, type Command, type Input, JSON_OPTION, TRUST_OPTION } from '../command.ts';
import { DRY_RUN_OPTION } from '../edit/change-file.ts';
import { SCOPE_OPTION } from '../edit/edit-scope.ts';

type Act = (input: Input, words: readonly string[]) => Promise<number>;

const put =
  (effect: RuleEffect): Act =>
  async (input, rules) =>
    (await import('../policy/put-rules.ts')).putRules(effect, rules, input);
const forget: Act = async (input, rules) => (await import('../policy/forget-rule.ts')).forgetRule(input, rules);

const VERBS: Readonly<Record<string, Act>> = {
  allow: put('allow'),
  ask: put('ask'),
  deny: put('deny'),
  forget,
  mode: async (input, words) => (await import('../policy/set-mode.ts')).setMode(input, words),
  rules: async (input) => (await import('../policy/show-permissions.ts')).showRules(input),
  list: async (input) => (await import('../policy/show-permissions.ts')).showPermissions(input),
  // The former name of `forget`.
  remove: forget,
};

const READ_VERBS = ['rules', 'list'];

export const managePermissions: Command = {
  summary: 'Show what a caller can list and call, and by which rule; add or remove a rule, or set the mode.',
  usage:
    'heddle permissions [--caller ID] [--profile P] | heddle permissions rules | heddle permissions allow|ask|deny|forget RULE… [--scope SCOPE] [--dry-run] | heddle permissions mode MODE',
  examples: [
    'heddle permissions --caller key:ci',
    'heddle permissions rules',
    'heddle permissions allow mcp__playwright',
    'heddle permissions deny mcp__github__delete_repository --scope project',
    'heddle permissions forget mcp__playwright --dry-run',
    'heddle permissions mode strict',
  ],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: {
    caller: { type: 'string', value: 'ID', help: 'Show the permissions of this caller: key:ci, owner, <issuer>#<sub>' },
    profile: { type: 'string', value: 'PROFILE', help: 'Show the permissions of callers of this profile' },
    scope: { ...SCOPE_OPTION, help: `${SCOPE_OPTION.help} (a new rule: user)` },
    'dry-run': DRY_RUN_OPTION,
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
    json: JSON_OPTION,
  },
  async run(input) {
    const [verb = 'list', ...words] = input.positionals;
    const act = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined;
    if (!act) throw unknownVerb(verb);
    if (words.length === 0 && !READ_VERBS.includes(verb)) throw noWord(verb);
    return act(input, words);
  },
};

const noWord = (verb: string) =>
  new HeddleError('USAGE_INVALID', verb === 'mode' ? 'No mode was given.' : 'No rule was given.', {
    fix:
      verb === 'mode'
        ? 'Use `heddle permissions mode guarded`, `strict` or `open`.'
        : `Name one: \`heddle permissions ${verb} mcp__server\` or \`mcp__server__tool\`.`,
  });

function unknownVerb(verb: string): HeddleError {
  const verbs = Object.keys(VERBS).filter((name) => name !== 'remove');
  const guess = verb.startsWith('mcp__') ? undefined : closest(verb, verbs);
  const fix =
    guess === undefined
      ? 'Use allow, ask, deny or forget and a rule.'
      : `Did you mean \`heddle permissions ${guess}\`?`;
  return new HeddleError('USAGE_INVALID', `${verb} is none of ${verbs.join(', ')}.`, { fix });
}
