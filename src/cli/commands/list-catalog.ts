import type { Problem } from '../../config/config.ts';
import type { Caller, CatalogKind, JsonObject, Target } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import type { ListQuery } from '../../heddle.ts';
import type { Input } from '../command.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import { serverToList } from '../input/ad-hoc-server.ts';
import { localCaller } from '../local-caller.ts';
import { callName, functionSignature } from '../print/function-signature.ts';
import { catalogOptions, findMissing, missingRows, printMissing, whileStarting } from '../print/missing-servers.ts';
import { type PrintedColumn, printColumns } from '../print/print-columns.ts';
import { printJson } from '../print/print-json.ts';
import { notice, print } from '../print/print-line.ts';
import { printFileProblems } from '../print/print-problems.ts';
import { visibleServers } from '../remote/visible-servers.ts';
import { withRunningHeddle } from '../with-heddle.ts';
import { advised } from './explain-call-error.ts';

type Kind = CatalogKind;

/** Runs `heddle list tools|resources|templates|prompts`. Includes tools that cannot be called. */
export function listCatalog(kind: Kind, input: Input): Promise<number> {
  const by = localCaller();
  const files = brokenFiles();
  const server = serverToList(input);
  const options = {
    ...catalogOptions(input),
    ...(server && { servers: { [server.name]: server.entry }, scope: 'command' as const }),
    onProblems: files.note,
  };
  return withRunningHeddle(input, options, async (heddle) => {
    const filter = { ...(await readFilter(heddle, by, input)), ...(server && { server: server.name }) };
    const found = await whileStarting(heddle, by, () => listCatalogEntries(heddle, by, { kind, ...filter }));
    if (found.length === 0 && filter.category !== undefined) await requireCategory(heddle, by, filter.category);
    const missing = await findMissing(heddle, by, filter.server);
    if (server && missing[0]) throw advised(unlisted(missing[0]), server);
    const signatures = input.flag('signatures');
    if (input.flag('json')) printJson([...found.map((one) => toRow(one, signatures)), ...missingRows(missing)]);
    else if (found.length > 0) printEntries(found, kind, signatures);
    else notice(`There are no ${kind}s${filter.server === undefined ? '' : ` of ${filter.server}`}.`);
    files.printNotes();
    printMissing(missing);
    return 0;
  });
}

/** Explains that a server given on the command line could not be listed. It is the whole command: there is no partial list. */
function unlisted({ name, state, reason = `${name} has not started.`, fix }: ServerStatus): HeddleError {
  return new HeddleError(state === 'needs-auth' ? 'AUTH_NEEDED' : 'UPSTREAM_UNREACHABLE', reason, fix ? { fix } : {});
}

/** Prints entries as a table, or as one signature per line. */
export function printEntries(found: readonly Target[], kind: Kind, signatures: boolean): void {
  if (signatures) for (const one of found) print(functionSignature(one, callName(one)));
  else printColumns(COLUMNS[kind], found);
}

/** Runs `heddle list categories`. */
export function listCategories(input: Input): Promise<number> {
  const by = localCaller();
  return withRunningHeddle(input, { ...catalogOptions(input), onProblems: printFileProblems }, async (heddle) => {
    const categories = await whileStarting(heddle, by, () => heddle.catalog.categories(by));
    const missing = await findMissing(heddle, by);
    if (input.flag('json')) printJson([...categories, ...missingRows(missing)]);
    else
      printColumns(
        [
          { title: 'CATEGORY', of: ({ name }) => name },
          { title: 'TOOLS', of: ({ tools }) => String(tools), right: true },
          { title: 'SERVERS', of: ({ servers }) => servers.join(', ') },
        ],
        categories,
      );
    printMissing(missing);
    return 0;
  });
}

/** Lists all pages of a kind of entries. */
export async function listCatalogEntries(
  heddle: Pick<CommandHeddle, 'catalog'>,
  by: Caller,
  query: ListQuery,
): Promise<readonly Target[]> {
  const found: Target[] = [];
  let cursor: string | undefined;
  do {
    const page = await heddle.catalog.list(by, { includeInvalid: true, ...query, ...(cursor && { cursor }) });
    found.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return found;
}

async function readFilter(
  heddle: CommandHeddle,
  by: Caller,
  input: Input,
): Promise<Pick<ListQuery, 'server' | 'category'>> {
  const server = input.text('server');
  const category = input.text('category');
  const names = (await visibleServers(heddle, by))?.map(({ name }) => name);
  if (server !== undefined && names && !names.includes(server)) throw unknown('server', server, names);
  return { ...(server !== undefined && { server }), ...(category !== undefined && { category }) };
}

async function requireCategory(heddle: CommandHeddle, by: Caller, category: string): Promise<void> {
  const names = (await heddle.catalog.categories(by)).map(({ name }) => name);
  if (!names.includes(category)) throw unknown('category', category, names);
}

function unknown(what: 'server' | 'category', name: string, names: readonly string[]): HeddleError {
  const guess = closest(name, names);
  const list = what === 'server' ? 'servers' : 'categories';
  return new HeddleError('NAME_UNKNOWN', `No ${what} is named ${name}.`, {
    fix: guess ? `Did you mean ${quoteName(guess)}?` : `Run \`heddle list ${list}\` to see their names.`,
  });
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : '');

// Flags and errors come before the long description.
const REMARKS: readonly PrintedColumn<Target>[] = [
  { title: 'FLAGS', of: ({ flags }) => flags.join(', '), optional: true },
  { title: 'INVALID', of: ({ invalid }) => invalid ?? '', optional: true },
  { title: 'DESCRIPTION', of: ({ definition }) => textOf(definition.description) || textOf(definition.title) },
];

const CATEGORY: PrintedColumn<Target> = {
  title: 'CATEGORY',
  of: ({ facts: { category } }) => (category === 'uncategorized' ? '' : category),
  optional: true,
};

const ADDRESS: readonly PrintedColumn<Target>[] = [
  { title: 'NAME', of: ({ definition }) => textOf(definition.name) },
  { title: 'TYPE', of: ({ definition }) => textOf(definition.mimeType), optional: true },
  { title: 'SERVER', of: ({ servers }) => servers.join(', ') },
];

const named = (title: string): PrintedColumn<Target> => ({ title, of: ({ publicName }) => publicName });

const COLUMNS: Readonly<Record<Kind, readonly PrintedColumn<Target>[]>> = {
  tool: [named('TOOL'), CATEGORY, ...REMARKS],
  resource: [named('RESOURCE'), ...ADDRESS, CATEGORY, ...REMARKS],
  template: [named('TEMPLATE'), ...ADDRESS, CATEGORY, ...REMARKS],
  prompt: [
    named('PROMPT'),
    { title: 'ARGUMENTS', of: ({ definition }) => argumentsOf(definition).join(' '), optional: true },
    CATEGORY,
    ...REMARKS,
  ],
};

/** Returns the arguments as in a usage line: optional ones in brackets. */
function argumentsOf({ arguments: list }: JsonObject): readonly string[] {
  return (Array.isArray(list) ? list : [])
    .filter(isObject)
    .map(({ name, required }) => (required === true ? String(name) : `[${name}]`));
}

function toRow(target: Target, withSignature: boolean): object {
  const { publicName, kind, servers, definition, facts, flags, invalid, digest } = target;
  const signature = withSignature ? functionSignature(target, callName(target)) : undefined;
  const { title, description, inputSchema, arguments: takes, mimeType, size } = definition;
  const written = { title, description, mimeType, size, arguments: takes, inputSchema };
  return { name: publicName, kind, servers, signature, ...written, facts, flags, invalid, digest };
}

/** Prints problems of whole files before the list, and a notice below it: entries of those files may be missing. */
function brokenFiles() {
  let broken: readonly string[] = [];
  return {
    note(problems: readonly Problem[]): void {
      printFileProblems(problems);
      const errors = problems.filter(({ level, server, at }) => level === 'error' && server === undefined && at);
      broken = [...new Set(errors.map(({ at }) => String(at?.file)))];
    },
    printNotes(): void {
      for (const file of broken) notice(`Entries of ${file} may be missing here: the file has an error.`);
    },
  };
}
