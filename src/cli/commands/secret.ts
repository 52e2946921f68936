import { text as readAll } from 'node:stream/consumers';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import { openSecretStore } from '../../open-heddle.ts';
import { noteAct } from '../acts.ts';
import { type Command, type Input, JSON_OPTION } from '../command.ts';
import { askHidden, canAsk } from '../input/ask.ts';
import { printJson } from '../print/print-json.ts';
import { print } from '../print/print-line.ts';
import { printTable } from '../print/print-table.ts';

const VERBS = { set, list, rm } as const;
type Verb = keyof typeof VERBS;
/** Verbs that would print a value. */
const SHOWS: ReadonlySet<string> = new Set(['get', 'show', 'read']);

export const secret: Command = {
  summary: 'Keep the secrets that configurations name as ${secret:NAME}. Values are never shown.',
  usage: 'heddle secret set NAME | heddle secret list | heddle secret rm NAME',
  examples: [
    'heddle secret set github.TOKEN',
    'heddle secret set github.TOKEN < token.txt',
    'heddle secret list --json',
  ],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: { json: JSON_OPTION },
  async run(input) {
    const [verb = '', ...words] = input.positionals;
    if (Object.hasOwn(VERBS, verb) && input.rest === undefined) return VERBS[verb as Verb](words, input);
    if (SHOWS.has(verb)) {
      throw new HeddleError('USAGE_INVALID', 'The value of a secret is never shown.', {
        fix: 'Run `heddle secret list` to see the names.',
      });
    }
    const meant = closest(verb, Object.keys(VERBS));
    throw new HeddleError('USAGE_INVALID', 'Use `heddle secret set`, `list` or `rm`.', {
      ...(meant && { fix: `Did you mean \`heddle secret ${meant}\`?` }),
    });
  },
};

async function set([name, ...more]: readonly string[], input: Input): Promise<number> {
  if (name === undefined) throw new HeddleError('USAGE_INVALID', 'No secret to set was given.');
  if (more.length > 0) {
    throw new HeddleError(
      'USAGE_INVALID',
      'The value of a secret is not accepted as an argument: other users can read arguments.',
      {
        fix: `Run \`heddle secret set ${name}\` and type the value, or give it on stdin.`,
      },
    );
  }
  const secrets = await openSecretStore();
  secrets.requireName(name); // Checked before the user types a value.
  const value = canAsk() ? await askHidden(`Value of ${name}:`) : (await readAll(process.stdin)).replace(/\r?\n$/, '');
  await secrets.set(name, value);
  noteAct({ secretSet: name });
  if (input.flag('json')) printJson({ name, backend: secrets.backend });
  else print(`${name} is set (${secrets.backend}). Write \${secret:${name}} where it is needed.`);
  return 0;
}

async function list(words: readonly string[], input: Input): Promise<number> {
  if (words.length > 0) throw new HeddleError('USAGE_INVALID', '`heddle secret list` takes no name.');
  const secrets = await openSecretStore();
  const names = await secrets.names();
  if (input.flag('json')) printJson(names.map((one) => ({ ...one, backend: secrets.backend })));
  else
    printTable(
      ['SECRET', 'SET', 'IN'],
      names.map(({ name, at }) => [name, at ?? '', secrets.backend]),
    );
  return 0;
}

async function rm([name, ...more]: readonly string[], input: Input): Promise<number> {
  if (name === undefined || more.length > 0)
    throw new HeddleError('USAGE_INVALID', '`heddle secret rm` takes one name.');
  const secrets = await openSecretStore();
  if (!(await secrets.remove(name))) {
    const meant = closest(
      name,
      (await secrets.names()).map((one) => one.name),
    );
    throw new HeddleError('NAME_UNKNOWN', `There is no secret \`${name}\`.`, {
      fix: meant === undefined ? 'Run `heddle secret list` to see all.' : `Did you mean \`${quoteName(meant)}\`?`,
    });
  }
  noteAct({ secretRemoved: name });
  if (input.flag('json')) printJson({ removed: name });
  else print(`${name} is gone.`);
  return 0;
}
