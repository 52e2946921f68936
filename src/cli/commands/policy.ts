import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { CONFIG_OPTION, type Command, type Input, JSON_OPTION, TRUST_OPTION } from '../command.ts';
import { ARGS_OPTION } from '../terminal-call.ts';

const VERBS: Readonly<Record<string, (input: Input, words: readonly string[]) => Promise<number>>> = {
  check: async (input, words) => (await import('../policy/check-policy.ts')).checkPolicy(input, words),
  simulate: async (input, words) => (await import('../policy/simulate-policy.ts')).simulatePolicy(input, words),
};

export const policy: Command = {
  summary: 'Show how the rules decide on a call, or how other rules would have decided on recorded calls.',
  usage:
    'heddle policy check <server.tool> [key=value …] [--as ID] [--profile P] | heddle policy simulate --candidate FILE [--since 7d] [--fail-on KIND]',
  notes: [
    '`check` makes no call. It exits with 0 if the call is allowed, 5 if it is denied, 6 if it needs an approval.',
    '`simulate` replaces the rules in force by those of the same name in FILE, and adds the others. To simulate the',
    'removal of a rule, write it into FILE with `shadow: true`. KIND is newly-allowed, newly-asked, newly-denied or',
    'undecidable; with such calls `simulate` exits with 1.',
  ],
  examples: [
    'heddle policy check files.write_file path=/etc/hosts --as key:ci',
    'heddle policy simulate --candidate policies/production.yaml --since 7d --fail-on newly-allowed',
  ],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: {
    as: { type: 'string', value: 'ID', help: 'Decide for this caller: key:ci, owner, <issuer>#<sub>' },
    profile: { type: 'string', value: 'PROFILE', help: 'Decide for a caller of this profile' },
    args: ARGS_OPTION,
    candidate: { type: 'string', value: 'FILE', help: 'A policy file: YAML or JSON with `policies`' },
    since: { type: 'string', value: 'TIME', help: 'How far to look back: 30m, 24h, 7d, 2w (default: 7d)' },
    'fail-on': {
      type: 'string',
      value: 'KIND',
      multiple: true,
      help: 'Exit with 1 if there are such calls; may be repeated',
    },
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
    json: JSON_OPTION,
  },
  async run(input) {
    const [verb, ...words] = input.positionals;
    const act = verb !== undefined && Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined;
    if (act) return act(input, words);
    const guess = verb === undefined ? undefined : closest(verb, Object.keys(VERBS));
    throw new HeddleError(
      'USAGE_INVALID',
      verb === undefined ? 'No action was given.' : `${verb} is neither check nor simulate.`,
      {
        fix:
          guess === undefined
            ? 'Use `heddle policy check` or `heddle policy simulate`.'
            : `Did you mean \`heddle policy ${guess}\`?`,
      },
    );
  },
};
