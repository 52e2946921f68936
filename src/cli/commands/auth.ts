import type { Target } from '../../core/call.ts';
import { ERRORS } from '../../core/error-codes.ts';
import { HeddleError } from '../../core/errors.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import type { SignIn } from '../../core/records/sign-in.ts';
import { unknownServer } from '../../core/records/unknown-server.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import type { Heddle } from '../../heddle.ts';
import { printSignIns, signInRow } from '../auth/print-sign-ins.ts';
import { CONFIG_OPTION, type Command, type Input, JSON_OPTION, TRUST_OPTION } from '../command.ts';
import { untilInterrupted } from '../input/interrupt.ts';
import { unknownVerb } from '../input/unknown-verb.ts';
import { localCaller } from '../local-caller.ts';
import { printJson } from '../print/print-json.ts';
import { notice, print, printStatement } from '../print/print-line.ts';
import { printFileProblems } from '../print/print-problems.ts';
import { openOptions, withHeddle } from '../with-heddle.ts';
import { listCatalogEntries, printEntries } from './list-catalog.ts';

const VERBS = { login, logout, status, rekey } as const;
type Verb = keyof typeof VERBS;
type Act = (heddle: Heddle, words: readonly string[], input: Input) => Promise<number>;

export const manageSignIns: Command = {
  summary: 'Sign in to servers that require OAuth, and sign out. Tokens are stored encrypted and never shown.',
  usage:
    'heddle auth login SERVER [--scope SCOPE]… [--no-browser] | heddle auth logout SERVER | heddle auth status [SERVER] | heddle auth rekey',
  notes: [
    'login opens a browser on a terminal. On another machine open the printed address, then paste the redirect.',
    'rekey encrypts all tokens with the key that is in force now: HEDDLE_SECRET_KEY, the key file or the keychain.',
  ],
  examples: [
    'heddle auth login github',
    'heddle auth login github --no-browser',
    'heddle auth login github --scope repo --scope gist',
    'heddle auth status --json',
    'heddle auth logout github',
  ],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: {
    'no-browser': { type: 'boolean', help: 'login: print the address instead of opening a browser' },
    scope: {
      type: 'string',
      multiple: true,
      value: 'SCOPE',
      help: 'login: request this OAuth scope, too; may be repeated',
    },
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
    json: JSON_OPTION,
  },
  async run(input) {
    const [verb = '', ...words] = input.positionals;
    if (!Object.hasOwn(VERBS, verb) || input.rest !== undefined) throw unknownVerb('auth', verb, Object.keys(VERBS));
    const act: Act = VERBS[verb as Verb];
    const options = { ...openOptions(input), autoConnect: false, onProblems: printFileProblems };
    return withHeddle(options, (heddle) => act(heddle, words, input));
  },
};

async function login(heddle: Heddle, words: readonly string[], input: Input): Promise<number> {
  const by = localCaller();
  const server = await oneServer(heddle, words, 'login');
  const { login: signIn } = await import('../auth/login.ts');
  const signedIn = await signIn({
    ...{ heddle, by, server, browser: !input.flag('no-browser'), scopes: input.texts('scope') },
  });
  notice(`Signed in to ${server}${signedIn.issuer === undefined ? '' : ` at ${signedIn.issuer}`}.`);
  const signal = untilInterrupted();
  const connected = await heddle.servers.connect(by, server, signal);
  const tools = await listCatalogEntries(heddle, by, { kind: 'tool', server, signal });
  if (input.flag('json')) printJson({ ...signInRow(signedIn), tools: tools.map(({ publicName }) => publicName) });
  else printTools(server, tools);
  return connected.state === 'connected' || tools.length > 0 ? 0 : notConnected(connected);
}

function printTools(server: string, tools: readonly Target[]): void {
  if (tools.length > 0) printEntries(tools, 'tool', false);
  else notice(`${server} has no tools.`);
}

/** Prints why a server does not connect in spite of the sign-in. Returns the exit code. */
function notConnected({ name, state, reason = 'no reason is known.', code, fix }: ServerStatus): number {
  printStatement({ start: `${oneLine(`${name} ${state}`)}: `, message: reason, fix }, process.stderr);
  return ERRORS[code ?? 'UPSTREAM_UNREACHABLE'].exit;
}

async function logout(heddle: Heddle, words: readonly string[], input: Input): Promise<number> {
  const server = await oneServer(heddle, words, 'logout');
  const forgotten = await heddle.signIns.forget(localCaller(), server, untilInterrupted());
  if (input.flag('json')) printJson(forgotten);
  else if (!forgotten.removed) print(`There was no sign-in to ${server}.`);
  else {
    print(`Signed out of ${server}. Its tokens are removed${forgotten.revoked === true ? ' and revoked' : ''}.`);
    if (forgotten.revoked === 'failed') {
      notice('The authorization server did not revoke the tokens. They end there on their own.');
    }
  }
  return 0;
}

async function status(heddle: Heddle, words: readonly string[], input: Input): Promise<number> {
  const server = words.length === 0 ? undefined : await oneServer(heddle, words, 'status');
  const all = await heddle.signIns.list(localCaller());
  const shown = all.filter((one: SignIn) => server === undefined || one.server === server);
  if (input.flag('json')) printJson(shown.map(signInRow));
  else printSignIns(shown);
  return 0;
}

async function rekey(heddle: Heddle, words: readonly string[], input: Input): Promise<number> {
  if (words.length > 0) throw new HeddleError('USAGE_INVALID', '`heddle auth rekey` takes no server: it is for all.');
  const { key, resealed, unopened } = await heddle.signIns.rekey(localCaller());
  if (input.flag('json')) printJson({ key, resealed, unopened });
  else print(`${resealed} ${resealed === 1 ? 'record is' : 'records are'} sealed anew with the key ${key}.`);
  for (const { key: other, rows } of unopened) {
    const message = `${rows} ${rows === 1 ? 'record has' : 'records have'} the key ${other}, which is not available here.`;
    const fix = 'Give that key in HEDDLE_PREVIOUS_SECRET_KEY and run `heddle auth rekey` again, or sign in again.';
    printStatement({ start: 'warning: ', message, fix }, process.stderr);
  }
  return unopened.length === 0 ? 0 : ERRORS.CONFIG_INVALID.exit;
}

/** Returns the one server that was named. Throws NAME_UNKNOWN if there is none of that name. */
async function oneServer(heddle: Heddle, [name, ...more]: readonly string[], verb: Verb): Promise<string> {
  const names = (await heddle.servers.list(localCaller())).map((server) => server.name);
  if (name === undefined || more.length > 0) {
    throw new HeddleError('USAGE_INVALID', `\`heddle auth ${verb}\` takes the name of one server.`, {
      fix: 'Run `heddle auth status` to see the servers that a sign-in is possible to.',
    });
  }
  if (names.includes(name)) return name;
  throw unknownServer(name, names);
}
