import { ROLES } from '../../core/call/caller.ts';
import type { Role } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import type { Access } from '../../heddle.ts';
import { CONFIG_OPTION, type Command, type Input, JSON_OPTION, TRUST_OPTION } from '../command.ts';
import { unknownVerb } from '../input/unknown-verb.ts';
import { localCaller } from '../local-caller.ts';
import { printJson } from '../print/print-json.ts';
import { notice, print } from '../print/print-line.ts';
import { printFileProblems } from '../print/print-problems.ts';
import { printTable } from '../print/print-table.ts';
import { openOptions, withHeddle } from '../with-heddle.ts';

const VERBS = { create, list, revoke } as const;
type Verb = keyof typeof VERBS;

export const key: Command = {
  summary: 'Make, list or revoke API keys of the gateway. A key is shown once; only its SHA-256 is stored.',
  usage: 'heddle key create NAME [--role R]… [--profile P] [--person] | heddle key list | heddle key revoke NAME',
  examples: [
    'heddle key create ci',
    'heddle key create desk --role user --role approver --profile support',
    'heddle key create laptop --person',
    'heddle key list --json',
    'heddle key revoke ci',
  ],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: {
    role: {
      type: 'string',
      multiple: true,
      value: 'ROLE',
      help: 'What it may do: user (the default), approver, auditor, operator or owner; may be repeated',
    },
    profile: { type: 'string', value: 'PROFILE', help: 'Let it open this profile and nothing else' },
    person: { type: 'boolean', help: 'A person uses it, and may approve calls in the form of the client' },
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
    json: JSON_OPTION,
  },
  async run(input) {
    const [verb = '', ...words] = input.positionals;
    if (!Object.hasOwn(VERBS, verb) || input.rest !== undefined) throw unknownVerb('key', verb, Object.keys(VERBS));
    const act = VERBS[verb as Verb];
    // Keys need no server, so none is started.
    return withHeddle({ ...openOptions(input), autoConnect: false, onProblems: printFileProblems }, ({ access }) =>
      act(access, words, input),
    );
  },
};

async function create(access: Access, words: readonly string[], input: Input): Promise<number> {
  const name = oneWord(words, '`heddle key create` takes one name.');
  const wanted = input.texts('role');
  const roles = wanted.length === 0 ? ['user' as const] : ROLES.filter((role) => wanted.map(toRole).includes(role));
  const profile = input.text('profile');
  const person = input.flag('person');
  const limits = { ...(profile !== undefined && { profile }), ...(person && { person }) };
  const made = await access.createKey(localCaller(), { name, roles, ...limits });
  if (input.flag('json')) printJson({ name, key: made, roles, profile, person });
  else {
    print(made);
    const limit = profile === undefined ? '' : `; profile ${profile}`;
    notice(
      `This is the key ${name} (${roles.join(', ')}${limit}${person ? '; with a person' : ''}). It is not shown again.`,
    );
    notice('Clients send it as `Authorization: Bearer …`.');
  }
  return 0;
}

async function list(access: Access, words: readonly string[], input: Input): Promise<number> {
  if (words.length > 0) throw new HeddleError('USAGE_INVALID', '`heddle key list` takes no name.');
  const keys = await access.keys(localCaller());
  const shown = keys.map(({ name, roles, profile, person = false, createdAt, from }) => {
    const created = createdAt === undefined ? undefined : new Date(createdAt).toISOString();
    return { name, roles, profile, person, created, from };
  });
  if (input.flag('json')) printJson(shown);
  else {
    printTable(
      ['KEY', 'ROLES', 'PROFILE', 'PERSON', 'CREATED', 'IN'],
      shown.map(({ name, roles, profile = '', person, created = '', from }) => [
        name,
        roles.join(', '),
        profile,
        person ? 'yes' : 'no',
        created,
        from,
      ]),
    );
  }
  return 0;
}

async function revoke(access: Access, words: readonly string[], input: Input): Promise<number> {
  const name = oneWord(words, '`heddle key revoke` takes one name.');
  await access.revokeKey(localCaller(), name);
  if (input.flag('json')) printJson({ revoked: name });
  else print(`The key ${name} is revoked.`);
  return 0;
}

function oneWord([word, ...more]: readonly string[], otherwise: string): string {
  if (word === undefined || more.length > 0) throw new HeddleError('USAGE_INVALID', otherwise);
  return word;
}

function toRole(text: string): Role {
  const role = ROLES.find((one) => one === text);
  if (role) return role;
  const meant = closest(text, ROLES);
  throw new HeddleError('USAGE_INVALID', `There is no role ${text}; roles are ${ROLES.join(', ')}.`, {
    ...(meant && { fix: `Did you mean ${meant}?` }),
  });
}
