import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { looksPasted } from '../../config/hosts/pasted-text.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { redactText } from '../../core/text/redact-text.ts';
import type { Input } from '../command.ts';
import { headersOf, pairs } from '../input/read-pairs.ts';
import { nameOfCommand, nameOfUrl } from './derive-name.ts';
import { OAUTH_OPTIONS, oauthFieldsOf } from './oauth-options.ts';

/** A server to add. */
export interface NewServer {
  /** The name from the command line or the file, if there is one. */
  readonly name?: string;
  /** The name to use otherwise. */
  readonly derivedName: string;
  readonly entry: JsonObject;
  /** The tools that a pasted text runs without a confirmation; `*` for all. */
  readonly approvals?: readonly string[];
}

/** A server to add, with its final name. */
export interface NamedServer {
  readonly name: string;
  readonly entry: JsonObject;
}

export interface NewServers {
  readonly servers: readonly NewServer[];
  /** Fields that could not be converted, with the reason. */
  readonly notes: readonly string[];
}

const HOW = 'Write `heddle add NAME -- command …`, `heddle add NAME URL`, or give JSON or a file with it.';

const DATABASE_URL = /^(?:postgres(?:ql)?|mysql|mariadb|sqlite):/i;

// The URL is not shown: it may have a password.
const databaseGiven = () =>
  new HeddleError('USAGE_INVALID', 'The URL of a database is not that of a server.', {
    fix: 'Name it in `builtins.database.connections` of heddle.json, as the guide databases.md shows.',
  });

/** Reads the servers to add from the command line: a command, a URL, JSON, or a file with JSON. */
export async function readNewServers(input: Input): Promise<NewServers> {
  const { positionals, rest } = input;
  if (positionals.length > (rest === undefined ? 2 : 1)) {
    throw new HeddleError('USAGE_INVALID', `${positionals.at(-1)} is one word too many.`, { fix: HOW });
  }
  if (rest !== undefined) return { servers: [await ofCommand(positionals[0], rest, input)], notes: [] };
  const [what, name] = positionals.length === 2 ? [positionals[1], positionals[0]] : [positionals[0], undefined];
  if (what === undefined) throw new HeddleError('USAGE_INVALID', 'No server to add was given.', { fix: HOW });
  if (/^(https?|wss?):\/\//i.test(what)) return { servers: [await ofUrl(name, what, input)], notes: [] };
  if (DATABASE_URL.test(what)) throw databaseGiven();
  const found = await ofText(await textOf(what), input);
  return name === undefined ? found : { ...found, servers: [{ ...only(found.servers, name), name }] };
}

async function ofCommand(name: string | undefined, words: readonly string[], input: Input): Promise<NewServer> {
  const [command, ...args] = words;
  if (command === undefined || command === '') {
    throw new HeddleError('USAGE_INVALID', 'After `--` comes the command of the server.', { fix: HOW });
  }
  const entry = await withOptions({ command, ...(args.length > 0 && { args }) }, input);
  return { ...(name !== undefined && { name }), derivedName: nameOfCommand(command, args), entry };
}

async function ofUrl(name: string | undefined, url: string, input: Input): Promise<NewServer> {
  if (!URL.canParse(url)) throw new HeddleError('USAGE_INVALID', `${url} is not a URL.`);
  const type = /^wss?:/i.test(url) ? 'ws' : 'http';
  return {
    ...(name !== undefined && { name }),
    derivedName: nameOfUrl(url),
    entry: await withOptions({ type, url }, input),
  };
}

/** Reads JSON from the argument itself, from stdin (`-`) or from a file. */
async function textOf(what: string): Promise<{ readonly text: string; readonly source: string }> {
  if (what === '-') return { text: await readAll(process.stdin), source: 'stdin' };
  if (looksPasted(what)) return { text: what, source: 'the JSON' };
  try {
    return { text: await readFile(what, 'utf8'), source: what };
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : cause;
    const message =
      code === 'ENOENT'
        ? `${redactText(what)} is neither a URL, nor JSON, nor a file.`
        : `The file ${what} cannot be read (${code}).`;
    throw new HeddleError('USAGE_INVALID', message, { cause, fix: HOW });
  }
}

async function ofText({ text, source }: { text: string; source: string }, input: Input): Promise<NewServers> {
  const { readPasted } = await import('../../config/hosts/pasted.ts');
  const { servers, notes } = readPasted(source, text);
  if (servers.length !== 1) requireNoOptions(input);
  const found = servers.map(async ({ name, entry, approvals }) => ({
    ...(name !== undefined && { name }),
    derivedName: derivedName(entry),
    entry: servers.length === 1 ? await withOptions(entry, input) : entry,
    approvals,
  }));
  return { servers: await Promise.all(found), notes };
}

function derivedName({ command, args, url }: JsonObject): string {
  if (typeof url === 'string' && URL.canParse(url)) return nameOfUrl(url);
  const words = Array.isArray(args) ? args.filter((word): word is string => typeof word === 'string') : [];
  return typeof command === 'string' ? nameOfCommand(command, words) : 'server';
}

function only(servers: readonly NewServer[], name: string): NewServer {
  const [first, second] = servers;
  if (first !== undefined && second === undefined) return first;
  throw new HeddleError('USAGE_INVALID', `There are ${servers.length} servers, and one name: ${name}.`, {
    fix: 'Leave the name out, or give one server.',
  });
}

/** Applies `--transport`, `--env`, `--header` and the options of OAuth to an entry. */
async function withOptions(entry: JsonObject, input: Input): Promise<JsonObject> {
  const transport = input.text('transport');
  const env = pairs('env', input.texts('env'), /^([^=]+)=([\s\S]*)$/);
  const headers = headersOf(input);
  requireFitting(entry, input);
  const { oauth, ...helper } = (await oauthFieldsOf(input)) ?? {};
  return {
    ...(transport === undefined ? entry : { ...entry, type: transport }),
    ...(env && { env: { ...members(entry.env), ...env } }),
    ...(headers && { headers: { ...members(entry.headers), ...headers } }),
    ...(oauth !== undefined && { oauth: { ...members(entry.oauth), ...members(oauth) } }),
    ...helper,
  };
}

const REMOTE_OPTIONS = ['transport', 'header', ...Object.keys(OAUTH_OPTIONS)];

const isGiven = (input: Input) => (name: string) => input.flag(name) || input.text(name) || input.texts(name)[0];

/** Throws USAGE_INVALID for an option of the other kind of server. */
function requireFitting({ url }: JsonObject, input: Input): void {
  const remote = url !== undefined;
  const misplaced = (remote ? ['env'] : REMOTE_OPTIONS).find(isGiven(input));
  if (misplaced === undefined) return;
  const [kind, other] = remote
    ? ['reached by a URL', 'started by a command']
    : ['started by a command', 'reached by a URL'];
  throw new HeddleError('USAGE_INVALID', `--${misplaced} is for a server ${other}; this one is ${kind}.`, {
    fix: `Leave --${misplaced} out.`,
  });
}

function requireNoOptions(input: Input): void {
  const option = ['env', ...REMOTE_OPTIONS].find(isGiven(input));
  if (option === undefined) return;
  throw new HeddleError('USAGE_INVALID', `--${option} is ambiguous: there are several servers.`, {
    fix: 'Add the servers one by one.',
  });
}

const members = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
