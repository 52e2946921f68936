import { HOST_NAMES } from '../../config/hosts/hosts.ts';
import type { Caller, CatalogKind, Target } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import type { Heddle } from '../../heddle.ts';
import type { Command } from '../command.ts';
import { declaredArguments, typesOf } from '../input/declared-arguments.ts';
import { choicesOf } from '../input/wanted-value.ts';
import { localCaller, terminalUser } from '../local-caller.ts';
import { callName } from '../print/function-signature.ts';
import { SHELLS } from './completion-scripts.ts';
import { listCatalogEntries } from './list-catalog.ts';

/** The commands by name, each with a function that loads it. */
export type CommandTable = Readonly<Record<string, { readonly load: () => Promise<Command> }>>;

/** Tells the shell's script to complete names of files. */
const FILES = [':files'];
/** Candidates with other characters are left out: a shell would interpret them. */
const SAFE = /^[\w.:/@%+,=-]+$/;
/** Returns true for a name that a command reads as an option. Servers choose names, such as a tool `--yes`. */
const isOption = (word: string): boolean => word.startsWith('-');

/**
 * Prints the candidates for the last of the words, one per line. Prints nothing if anything fails: a shell would show it in
 * the middle of the line that the user types.
 */
export async function printCandidates(words: readonly string[], commands: CommandTable): Promise<number> {
  const current = words.at(-1) ?? '';
  const all = await candidates(words, commands).catch(() => []);
  const fitting = all === FILES ? all : all.filter((one) => one.startsWith(current) && SAFE.test(one));
  for (const one of new Set(fitting)) process.stdout.write(`${oneLine(one)}\n`);
  return 0;
}

async function candidates(words: readonly string[], commands: CommandTable): Promise<readonly string[]> {
  const [name = '', ...rest] = words;
  if (rest.length === 0) return [...Object.keys(commands), 'help', '--help', '--version'];
  if (name === 'help') return Object.keys(commands);
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!entry) return [];
  const command = await entry.load();
  const { before, current, option } = split(rest, command);
  if (option !== undefined) return withoutOptions(await optionValues(option));
  if (current.startsWith('-')) return [...Object.keys(command.options), 'help'].map((one) => `--${one}`);
  if (rest.includes('--')) return FILES;
  return withoutOptions((await POSITIONALS[name]?.({ before, current })) ?? []);
}

/** Keeps the list `FILES` itself: it is known by its identity. */
const withoutOptions = (words: readonly string[]): readonly string[] =>
  words.some(isOption) ? words.filter((word) => !isOption(word)) : words;

interface SplitWords {
  /** The positional arguments before the current word. */
  readonly before: readonly string[];
  readonly current: string;
  /** The option whose value the current word is. */
  readonly option: string | undefined;
}

function split(words: readonly string[], { options }: Command): SplitWords {
  const before: string[] = [];
  let option: string | undefined;
  for (const word of words.slice(0, -1)) {
    const name = word.startsWith('--') ? word.slice(2) : undefined;
    if (option !== undefined) option = undefined;
    else if (name === undefined) before.push(word);
    else if (Object.hasOwn(options, name) && options[name]?.type === 'string') option = name;
  }
  return { before, current: words.at(-1) ?? '', option };
}

async function optionValues(option: string): Promise<readonly string[]> {
  if (option === 'config' || option === 'output' || option === 'candidate') return FILES;
  if (option === 'server') return serverNames();
  return option === 'category'
    ? withStored(async (heddle, by) => (await heddle.catalog.categories(by)).map(nameOf))
    : [];
}

const nameOf = ({ name }: { readonly name: string }) => name;

type Positional = (typed: Pick<SplitWords, 'before' | 'current'>) => Promise<readonly string[]> | readonly string[];

const firstOf =
  (...words: readonly string[]): Positional =>
  ({ before }) =>
    before.length === 0 ? words : [];
const server: Positional = ({ before }) => (before.length === 0 ? serverNames() : []);
const host: Positional = ({ before }) => (before.length === 0 ? HOST_NAMES : serverNames());

const POSITIONALS: Readonly<Record<string, Positional>> = {
  call: (typed) => called('tool', typed),
  prompt: (typed) => called('prompt', typed),
  describe: ({ before }) => (before.length > 0 ? [] : describable()),
  read: ({ before }) =>
    before.length > 0 ? [] : withStored(async (heddle, by) => (await entries(heddle, by, ['resource'])).map(callName)),
  list: firstOf('servers', 'tools', 'resources', 'templates', 'prompts', 'categories', 'workflows'),
  run: (typed) => workflowWords(typed),
  lint: ({ current }) => (/[./]/.test(current) ? FILES : workflowNames()),
  runs: ({ before: [verb, ...others] }) => (verb === undefined ? RUN_VERBS : others.length > 0 ? [] : runIds(verb)),
  get: server,
  remove: server,
  enable: server,
  disable: server,
  doctor: server,
  trust: () => serverNames(),
  import: host,
  export: host,
  connect: firstOf(...HOST_NAMES),
  permissions: ({ before: [verb] }) =>
    verb === undefined ? PERMISSION_VERBS : verb === 'mode' ? ['guarded', 'strict', 'open'] : ruleNames(),
  audit: firstOf('search', 'show', 'export', 'verify', 'head', 'prune'),
  policy: ({ before: [verb, ...others], current }) =>
    verb === undefined ? ['check', 'simulate'] : verb === 'check' ? called('tool', { before: others, current }) : [],
  config: firstOf('explain', 'schema', 'path'),
  auth: ({ before: [verb, ...others] }) =>
    verb === undefined ? AUTH_VERBS : others.length > 0 || verb === 'rekey' ? [] : serverNames(),
  approvals: ({ before: [verb, ...others] }) => {
    if (verb === undefined) return APPROVAL_VERBS;
    if (verb === 'standing') return others.length === 0 ? ['list', 'revoke'] : [];
    return others.length > 0 || verb === 'list' ? [] : approvalIds();
  },
  key: firstOf('create', 'list', 'revoke'),
  secret: firstOf('set', 'list', 'rm'),
  builtin: ({ before }) => (before.length === 0 ? ['filesystem', 'database'] : FILES),
  completion: firstOf(...SHELLS),
  add: () => FILES,
};

const PERMISSION_VERBS = ['allow', 'ask', 'deny', 'forget', 'mode', 'rules'];
const AUTH_VERBS = ['login', 'logout', 'status', 'rekey'];
const APPROVAL_VERBS = ['list', 'show', 'approve', 'reject', 'wait', 'standing'];
const RUN_VERBS = ['list', 'show', 'events', 'resume', 'cancel', 'retry', 'resolve'];
const ALL_KINDS: readonly CatalogKind[] = ['tool', 'prompt', 'resource'];

/** The approvals that are pending. */
const approvalIds = () => withStored(async (heddle, by) => (await heddle.approvals.list(by)).map(({ id }) => id));

const workflowNames = () => withStored(async (heddle, by) => (await heddle.workflows.list(by)).map(nameOf));

/** The runs that a verb of `heddle runs` can act on. */
const runIds = (verb: string) =>
  withStored(async (heddle, by) => {
    const status = ['show', 'events', 'retry'].includes(verb) ? 'all' : verb === 'resolve' ? 'in_doubt' : 'open';
    return (await heddle.runs.list(by, { status })).map(({ id }) => id);
  });

/** Completes the name of a workflow, and the arguments behind it. */
function workflowWords({ before, current }: Pick<SplitWords, 'before' | 'current'>): Promise<readonly string[]> {
  const [name] = before;
  if (name === undefined && /[./]/.test(current)) return Promise.resolve(FILES);
  return withStored(async (heddle, by) => {
    const all = await heddle.workflows.list(by);
    const found = all.find((one) => one.name === name);
    if (!found) return name === undefined ? all.map(nameOf) : [];
    return argumentCandidates({ kind: 'tool', definition: { inputSchema: found.input } }, before, current);
  });
}

/** The rules that match a known server or tool. */
const ruleNames = () =>
  withStored(async (heddle, by) => [
    ...(await heddle.servers.list(by)).map(({ name }) => `mcp__${name}`),
    ...(await entries(heddle, by, ['tool'])).map(({ publicName }) => publicName),
  ]);

const describable = () =>
  withStored(async (heddle, by) => [
    ...(await heddle.servers.list(by)).map(nameOf),
    ...(await entries(heddle, by, ALL_KINDS)).map(callName),
  ]);

const serverNames = () => withStored(async (heddle, by) => (await heddle.servers.list(by)).map(nameOf));

/** Completes `server.tool`, `server tool`, and the arguments behind them. */
function called(
  kind: 'tool' | 'prompt',
  { before, current }: Pick<SplitWords, 'before' | 'current'>,
): Promise<readonly string[]> {
  return withStored(async (heddle, by) => {
    const targets = await entries(heddle, by, [kind]);
    const servers = (await heddle.servers.list(by)).map(nameOf);
    const [first, ...others] = before;
    if (first === undefined) return [...servers, ...targets.map(callName)];
    const isServer = servers.includes(first);
    const second = others[0];
    if (isServer && (second === undefined || second.includes('='))) {
      return targets.flatMap(({ group, shownAs }) => (group === first && shownAs !== undefined ? [shownAs] : []));
    }
    const name = isServer ? `${first}.${second}` : first;
    const target = targets.find((one) => [callName(one), one.publicName, one.shownAs].includes(name));
    return target ? argumentCandidates(target, before, current) : [];
  });
}

/** Completes `key=` with the names of the arguments that are still missing, and `key=value` with the values it may have. */
function argumentCandidates(
  target: Pick<Target, 'kind' | 'definition'>,
  before: readonly string[],
  current: string,
): readonly string[] {
  const [, typed, value] = /^([^:=]+):?=(.*)$/.exec(current) ?? [];
  if (value?.startsWith('@')) return FILES;
  if (typed !== undefined) return valuesOf(target, typed).map((one) => `${typed}=${one}`);
  const given = before.map((word) => word.split(/:?=/)[0]);
  return argumentNames(target)
    .filter((name) => !given.includes(name))
    .map((name) => `${name}=`);
}

function argumentNames({ kind, definition }: Pick<Target, 'kind' | 'definition'>): readonly string[] {
  if (kind === 'tool') return declaredArguments(definition.inputSchema).names;
  const { arguments: list } = definition;
  return (Array.isArray(list) ? list : []).filter(isObject).map(({ name }) => String(name));
}

function valuesOf({ definition: { inputSchema } }: Pick<Target, 'definition'>, name: string): readonly string[] {
  return declaredArguments(inputSchema)
    .schemasOf(name)
    .flatMap((schema) => {
      const isBoolean = isObject(schema) && typesOf(schema).includes('boolean');
      return isBoolean ? ['true', 'false'] : choicesOf({ root: inputSchema, schema });
    });
}

const entries = async (heddle: Heddle, by: Caller, kinds: readonly CatalogKind[]): Promise<readonly Target[]> =>
  (
    await Promise.all(kinds.map((kind) => listCatalogEntries(heddle, by, { kind, includeInvalid: false, waitMs: 0 })))
  ).flat();

/** Opens Heddle with the stored definitions. Starts no server. */
async function withStored(use: (heddle: Heddle, by: Caller) => Promise<readonly string[]>): Promise<readonly string[]> {
  const { openHeddle } = await import('../../open-heddle.ts');
  const heddle = await openHeddle({ autoConnect: false, listWaitMs: 0, user: terminalUser() });
  try {
    return await use(heddle, localCaller());
  } finally {
    await heddle.close().catch(() => {});
  }
}
