import type { JsonObject } from '../../core/call.ts';
import type { Problem } from '../config.ts';
import type { Document } from '../document.ts';
import { checkEntry } from '../edit/check-entry.ts';
import { parseDocument } from '../read/parse-document.ts';
import { editJson } from './edit-json.ts';
import type { HostFormat } from './host-format.ts';
import { serverNameFor, wrong } from './read-servers.ts';
import { redactJson } from './redact-host.ts';
import { argumentsOf, byEitherName, type Note, namedValues, objects, settingOf, textOf } from './registry-package.ts';
import { describeRegistryServer } from './registry-write.ts';

const TITLE = 'the registry';

/** The command line for a package of each registry type: the runner and its arguments. */
const RUNNERS: Readonly<Record<string, (id: string, version: string | undefined) => readonly string[]>> = {
  npm: (id, version) => ['npx', '-y', version === undefined ? id : `${id}@${version}`],
  pypi: (id, version) => ['uvx', version === undefined ? id : `${id}==${version}`],
  // Newer files have the tag in the name of the image.
  oci: (id, version) => ['docker', version === undefined || /[:@][^/]*$/.test(id) ? id : `${id}:${version}`],
};
const TRANSPORTS: Readonly<Record<string, string>> = {
  'streamable-http': 'http',
  streamable: 'http',
  http: 'http',
  sse: 'sse',
};

/** The format of the MCP registry's `server.json`: one server, with its packages and remote addresses. */
export const registry: HostFormat = {
  title: TITLE,
  from(content, { file }) {
    const document = parseDocument(file, content.replace(/^\uFEFF/, ''));
    if (!('root' in document)) return { servers: {}, notes: [], problems: [document] };
    const { root } = document;
    const full = textOf(root.name);
    const name = full === undefined ? undefined : serverNameFor(full.split('/').at(-1) ?? full);
    if (full === undefined || name === undefined) {
      const problem = wrong(
        '`name` must name the server, as `io.github.user/server`.',
        'Add it.',
        document.locate(['name']),
      );
      return { servers: {}, notes: [], problems: [problem] };
    }
    const notes: string[] = [];
    const note: Note = (one) => void notes.push(`\`${name}\`: ${one}`);
    const entry = firstThatRuns(root, note);
    const problem = entry === undefined ? nothingToRun(document) : refusal(name, entry, document);
    if (entry === undefined || problem !== undefined) return { servers: {}, notes, problems: problem ? [problem] : [] };
    const description = textOf(root.description);
    return { servers: { [name]: description ? { ...entry, description } : entry }, notes, problems: [] };
  },
  to(servers, existing = '', { file }) {
    const blank = existing.trim() === '';
    const document = parseDocument(file, blank ? '{}' : existing.replace(/^\uFEFF/, ''));
    if (!('root' in document)) return { text: existing, notes: [], problems: [document] };
    const described = describeRegistryServer(servers, document.root);
    if ('problem' in described) {
      const problem = wrong(described.problem, described.fix, document.locate([]));
      return { text: existing, notes: described.notes, problems: [problem] };
    }
    return { text: editJson(blank ? '{}\n' : existing, described.edits), notes: described.notes, problems: [] };
  },
  redacted: redactJson,
};

function firstThatRuns(root: JsonObject, note: Note): JsonObject | undefined {
  for (const [index, one] of objects(root.packages).entries()) {
    const entry = fromPackage(one, note);
    if (typeof entry !== 'string') {
      note(`\`packages[${index}]\` (${textOf(byEitherName(one, 'registryType'))} ${textOf(one.identifier)}) is used.`);
      return entry;
    }
    note(`\`packages[${index}]\` is skipped: ${entry}`);
  }
  for (const [index, one] of objects(root.remotes).entries()) {
    const entry = fromRemote(one, note);
    if (typeof entry !== 'string') {
      note(`\`remotes[${index}]\` is used.`);
      return entry;
    }
    note(`\`remotes[${index}]\` is skipped: ${entry}`);
  }
  return undefined;
}

/** Returns the entry that runs a package, or the reason why there is none. */
function fromPackage(one: JsonObject, note: Note): JsonObject | string {
  const kind = textOf(byEitherName(one, 'registryType')) ?? textOf(one.registry_name) ?? '';
  const identifier = textOf(one.identifier) ?? textOf(one.name);
  const { transport } = one;
  const runner = Object.hasOwn(RUNNERS, kind) ? RUNNERS[kind] : undefined;
  if (runner === undefined) return `Heddle cannot run packages of the kind \`${kind}\`.`;
  if (identifier === undefined) return '`identifier` is missing.';
  if (transport !== undefined && (transport as JsonObject).type !== 'stdio') return 'its transport is not stdio.';
  const [preset = '', ...runnerArgs] = runner(identifier, textOf(one.version));
  const command = textOf(byEitherName(one, 'runtimeHint')) ?? preset;
  const env = namedValues(byEitherName(one, 'environmentVariables'), note);
  const before = argumentsOf(byEitherName(one, 'runtimeArguments'), note);
  const after = argumentsOf(byEitherName(one, 'packageArguments'), note);
  const own = command === preset ? runnerArgs.slice(0, -1).filter((argument) => !before.includes(argument)) : [];
  const args =
    kind === 'oci'
      ? ['run', '-i', '--rm', ...Object.keys(env).flatMap((name) => ['-e', name]), ...before, ...runnerArgs, ...after]
      : [...own, ...before, ...runnerArgs.slice(-1), ...after];
  return { command, args, ...(Object.keys(env).length > 0 && { env }) };
}

function fromRemote(one: JsonObject, note: Note): JsonObject | string {
  const written = textOf(one.type) ?? textOf(byEitherName(one, 'transportType')) ?? '';
  const type = Object.hasOwn(TRANSPORTS, written) ? TRANSPORTS[written] : undefined;
  if (type === undefined) return `Heddle has no transport \`${written}\`.`;
  const url = settingOf({ ...one, value: one.url ?? '' }, 'url', note);
  if (url === undefined || url === '') return '`url` is missing.';
  const headers = namedValues(one.headers, note);
  return { type, url, ...(Object.keys(headers).length > 0 && { headers }) };
}

const nothingToRun = (document: Document): Problem =>
  wrong(
    'The file has neither a package nor a remote address that Heddle can use.',
    'Write the server into heddle.json by hand, following its documentation.',
    document.locate([]),
  );

function refusal(name: string, entry: JsonObject, document: Document): Problem | undefined {
  const [problem] = checkEntry(name, entry, { foreign: false, env: {} }).problems;
  return problem && { ...problem, at: document.locate([]) };
}
