import type { Config } from '../../config/config.ts';
import { checkEntry } from '../../config/edit/check-entry.ts';
import { type EditTarget, targetFor } from '../../config/edit/edit-scopes.ts';
import { emptyFile, withServer, writtenServers } from '../../config/edit/edit-servers.ts';
import { readConfig } from '../../config/read-config.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { readTextFile } from '../../files/edit-file.ts';
import { type Command, JSON_OPTION } from '../command.ts';
import { changeFile, DRY_RUN_OPTION, requireJson } from '../edit/change-file.ts';
import { CHECK_OPTIONS, checkAdded } from '../edit/check-added.ts';
import { uniqueName } from '../edit/derive-name.ts';
import { placesOf, readScope, SCOPE_OPTION } from '../edit/edit-scope.ts';
import { noticeBlocked, requireOwnServers } from '../edit/managed-servers.ts';
import { meantAdd } from '../edit/meant-add.ts';
import { PLAIN_OPTION, settleSecrets } from '../edit/move-secrets.ts';
import { type NamedServer, type NewServer, readNewServers } from '../edit/new-servers.ts';
import { type ApprovedServer, noticeApprovals, noticeHelpers, noticeReplaced } from '../edit/notice-effects.ts';
import { OAUTH_OPTIONS } from '../edit/oauth-options.ts';
import { trustOwn } from '../edit/trust-own.ts';
import { writeSchema } from '../edit/write-schema.ts';
import { notice } from '../print/print-line.ts';
import { printProblems } from '../print/print-problems.ts';

const TRANSPORTS = ['http', 'sse', 'ws'];

const OPTIONS: Command['options'] = {
  scope: SCOPE_OPTION,
  transport: { type: 'string', value: 'KIND', help: 'How a URL is spoken to: http (default), sse or ws' },
  env: { type: 'string', value: 'NAME=VALUE', multiple: true, help: 'Variable of the program; may be repeated' },
  header: { type: 'string', value: "'NAME: VALUE'", multiple: true, help: 'Sent to the URL; may be repeated' },
  ...OAUTH_OPTIONS,
  plain: PLAIN_OPTION,
  force: { type: 'boolean', help: 'Replace a server of the same name' },
  ...CHECK_OPTIONS,
  'dry-run': DRY_RUN_OPTION,
  json: JSON_OPTION,
};

export const add: Command = {
  summary: 'Add a server: a command, a URL, JSON of any host, or a server.json.',
  usage: 'heddle add [name] (-- command args… | URL | JSON | FILE | -)',
  examples: [
    'heddle add time -- uvx mcp-server-time',
    `heddle add https://example.com/mcp --header 'Authorization: Bearer \${TOKEN}'`,
    `heddle add '{"mcpServers":{"time":{"command":"uvx","args":["mcp-server-time"]}}}' --dry-run`,
    'pbpaste | heddle add -',
    'heddle add https://example.com/mcp --client-id ID --client-secret --callback-port 8080',
    'heddle add github --env GITHUB_TOKEN=… -- npx -y server-github',
  ],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: OPTIONS,
  meant: (argv) => (argv.includes('--') ? undefined : meantAdd(argv, OPTIONS)),
  async run(input) {
    requireTransport(input.text('transport'));
    const scope = readScope(input);
    const { servers: given, notes } = await readNewServers(input);
    const config = await readConfig();
    requireOwnServers(config, given.map(shownName), 'added');
    const target = await targetFor(placesOf(config), scope);
    const text = await readTextFile(target.file);
    const servers = named(given, config, text);
    for (const note of notes) notice(note);
    noticeApprovals(servers);
    noticeHelpers(servers);
    noticeReplaced(servers);
    for (const { name, entry } of servers) requireSound(name, entry, target);

    const place = edited(target, input.flag('force'));
    place(requireJson(target.file, text), servers); // Throws before any secret is stored.
    const { servers: settled, secrets } = await settleSecrets(servers, target.file, input);
    const names = settled.map(({ name }) => name);
    const { after } = await changeFile(
      {
        file: target.file,
        edit: (before) => place(before, settled),
        report: { added: names, scope: target.scope, secrets },
        summary: `Added ${names.join(', ')} to ${target.file} (${target.scope}).`,
      },
      input,
    );
    if (input.flag('dry-run')) return 0;
    await writeSchema(target, after);
    await trustOwn(target, settled, config.projectFolder);
    await noticeShadows(names, target);
    await checkAdded(names, input);
    return 0;
  },
};

const shownName = ({ name, derivedName }: NewServer) => name ?? derivedName;

function named(given: readonly NewServer[], { servers }: Config, text: string): readonly ApprovedServer[] {
  const taken = new Set([...servers.keys(), ...(text.trim() === '' ? [] : writtenNames(text))]);
  return given.map(({ name, derivedName, entry, approvals = [] }) => {
    if (name !== undefined) return { name, entry, approvals };
    const derived = uniqueName(derivedName, taken);
    taken.add(derived);
    notice(`No name was given, so the server is called ${derived}.`);
    return { name: derived, entry, approvals };
  });
}

// A broken file is reported when it is edited.
function writtenNames(text: string): Iterable<string> {
  try {
    return writtenServers(text).keys();
  } catch {
    return [];
  }
}

function requireTransport(wanted: string | undefined): void {
  if (wanted === undefined || TRANSPORTS.includes(wanted)) return;
  const meant = wanted === 'websocket' ? 'ws' : wanted === 'streamable-http' ? 'http' : closest(wanted, TRANSPORTS);
  throw new HeddleError('USAGE_INVALID', `There is no transport ${wanted}.`, {
    fix: meant ? `Did you mean ${meant}?` : `Use one of ${TRANSPORTS.join(', ')}.`,
  });
}

function requireSound(name: string, entry: JsonObject, { foreign }: EditTarget): void {
  const { problems, unset } = checkEntry(name, entry, { foreign, env: process.env });
  const [error, ...more] = problems.filter(({ level }) => level === 'error');
  if (error) {
    const others = more.length > 0 ? ` (and ${more.length} more)` : '';
    throw new HeddleError(error.code, `${error.message}${others}`, { fix: error.fix });
  }
  printProblems(problems);
  for (const variable of unset) {
    notice(`${variable} is not set here; ${name} starts only where it is set.`);
  }
}

function edited({ file, schema }: EditTarget, force: boolean) {
  return (before: string, servers: readonly NamedServer[]): string => {
    const start = before.trim() === '' ? emptyFile(schema) : before;
    const existing = writtenServers(start);
    return servers.reduce((text, { name, entry }) => {
      if (!existing.has(name) || force) return withServer(text, name, entry);
      throw new HeddleError('USAGE_INVALID', `${file} already has a server \`${name}\`.`, {
        fix: 'Add `--force` to replace it, or give another name.',
      });
    }, start);
  };
}

/** Prints a notice for each name that the organisation blocks, or that a file with precedence has, too. */
async function noticeShadows(names: readonly string[], { file }: EditTarget): Promise<void> {
  const config = await readConfig();
  noticeBlocked(config, names);
  for (const name of names) {
    const at = config.servers.get(name)?.at;
    if (at && at.file !== file) notice(`${name} is also in ${at.file}:${at.line}, which wins over ${file}.`);
  }
}
