import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Edit } from './dialect.ts';
import type { HostServers } from './host-format.ts';
import { serverNameFor } from './read-servers.ts';
import { curly, type Note } from './registry-package.ts';
import { hasReference, heddle, translate, variableIn, variableNamed } from './template.ts';
import { noteUnknown, transportOf } from './to-entry.ts';

const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
const WRITTEN_FIELDS = ['type', 'command', 'args', 'env', 'url', 'headers', 'description'];

export type Described =
  | { readonly edits: readonly Edit[]; readonly notes: readonly string[] }
  | { readonly problem: string; readonly fix: string; readonly notes: readonly string[] };

/** Returns the edits that make a `server.json` describe one server. */
export function describeRegistryServer(servers: HostServers, root: JsonObject): Described {
  const notes: string[] = [];
  const [[name, entry] = [], ...more] = Object.entries(servers);
  if (name === undefined || entry === undefined || more.length > 0) {
    const problem = `A server.json describes one server, and there are ${Object.keys(servers).length}.`;
    return { problem, fix: 'Name the one to export: `heddle export registry <name>`.', notes };
  }
  const note: Note = (one) => void notes.push(`\`${name}\`: ${one}`);
  const type = transportOf(entry);
  const described = type === 'stdio' ? toPackage(entry, note) : toRemote(entry, type, note);
  if (typeof described === 'string')
    return { problem: `\`${name}\` cannot be described: ${described}`, fix: AS_PACKAGE, notes };
  noteUnknown(entry, { known: WRITTEN_FIELDS, title: 'a server.json', note });
  if (!entry.description) note('its `description` is empty; to publish it, write one.');
  const keepsName = typeof root.name === 'string' && serverNameFor(root.name.split('/').at(-1) ?? '') === name;
  if (!keepsName) note(`its name is \`local/${name}\`; to publish it, write your own namespace there.`);
  return {
    edits: [...heading(entry, keepsName ? undefined : `local/${name}`, root), ...transportEdits(type, described)],
    notes,
  };
}

const AS_PACKAGE = 'Run it as a package: `npx -y name@version`, `uvx name==version` or `docker run -i --rm image`.';

function heading({ description }: JsonObject, name: string | undefined, root: JsonObject): readonly Edit[] {
  const text = typeof description === 'string' ? description : undefined;
  return [
    ...(root.$schema === undefined ? [{ path: ['$schema'], value: SCHEMA }] : []),
    ...(name === undefined ? [] : [{ path: ['name'], value: name }]),
    ...(root.description === text ? [] : [{ path: ['description'], value: text ?? '' }]),
    ...(root.version === undefined ? [{ path: ['version'], value: '1.0.0' }] : []),
  ];
}

const transportEdits = (type: string, described: JsonObject): readonly Edit[] => [
  { path: ['packages'], value: type === 'stdio' ? [described] : undefined },
  { path: ['remotes'], value: type === 'stdio' ? undefined : [described] },
];

interface PackageCommand {
  readonly registryType: string;
  readonly identifier: string;
  readonly version?: string;
  readonly rest: readonly string[];
}

function toPackage({ command, args, env }: JsonObject, note: Note): JsonObject | string {
  const argv = Array.isArray(args) ? args.map(String) : [];
  const names = Object.keys(isObject(env) ? env : {});
  const found = packageIn(String(command), argv, names);
  if (found === undefined) return `\`${String(command)}\` runs no package of a registry.`;
  const packageArguments = found.rest.map((argument) => withVariables(argument));
  if (packageArguments.includes(undefined)) return 'an argument has a reference that a server.json cannot express.';
  const { rest: _, ...identity } = found;
  return {
    ...identity,
    transport: { type: 'stdio' },
    ...(packageArguments.length > 0 && {
      packageArguments: packageArguments.map((one) => ({ type: 'positional', ...one })),
    }),
    ...inputs('environmentVariables', env, note),
  };
}

/** Parses the commands that `fromPackage` writes, and no others. */
function packageIn(command: string, argv: readonly string[], names: readonly string[]): PackageCommand | undefined {
  const [first = '', second = ''] = argv;
  if (command === 'npx' && first === '-y')
    return versioned('npm', /^((?!-)@?[^@]+)(?:@([^@]+))?$/.exec(second), argv.slice(2));
  if (command === 'uvx') return versioned('pypi', /^([^=@-][^=@]*)(?:==([^=]+))?$/.exec(first), argv.slice(1));
  const flags = ['run', '-i', '--rm', ...names.flatMap((name) => ['-e', name])];
  const image = argv[flags.length];
  const runs = command === 'docker' && flags.every((flag, index) => argv[index] === flag);
  if (!runs || image === undefined || image.startsWith('-')) return undefined;
  return { registryType: 'oci', identifier: image, rest: argv.slice(flags.length + 1) };
}

function versioned(
  registryType: string,
  match: RegExpExecArray | null,
  rest: readonly string[],
): PackageCommand | undefined {
  const [whole, identifier, version] = match ?? [];
  if (whole === undefined || identifier === undefined || hasReference(whole)) return undefined;
  return { registryType, identifier, ...(version !== undefined && { version }), rest };
}

function toRemote({ url, headers }: JsonObject, type: string, note: Note): JsonObject | string {
  if (type !== 'http' && type !== 'sse') return `it has no transport \`${type}\`.`;
  const address = withVariables(String(url));
  if (address === undefined) return 'its `url` has a reference that a server.json cannot express.';
  const { value, ...variables } = address;
  return {
    type: type === 'http' ? 'streamable-http' : 'sse',
    url: value,
    ...variables,
    ...inputs('headers', headers, note),
  };
}

/** Translates a text, with a description of its variables; undefined if it cannot be translated. */
function withVariables(text: string): { readonly value: string; readonly variables?: JsonObject } | undefined {
  const translated = translate(text, heddle, curly);
  if ('lost' in translated) return undefined;
  const names = [...translated.text.matchAll(curly.pattern)].map(([, name = '']) => name);
  if (names.length === 0) return { value: translated.text };
  return { value: translated.text, variables: Object.fromEntries(names.map((name) => [name, { isRequired: true }])) };
}

function inputs(key: string, map: Json | undefined, note: Note): JsonObject {
  const field = key === 'headers' ? 'headers' : 'env';
  const list = Object.entries(isObject(map) ? map : {}).flatMap(([name, text]): JsonObject[] => {
    const { name: variable, fallback } = variableIn(String(text)) ?? {};
    if (variable === variableNamed(name) && fallback === undefined) return [{ name, isRequired: true }];
    if (variable === variableNamed(name) && !/[{}$]/.test(fallback ?? '')) return [{ name, default: fallback }];
    const value = withVariables(String(text));
    if (value === undefined) note(`\`${field}.${name}\` is left out: a server.json cannot express its reference.`);
    return value === undefined ? [] : [{ name, ...value }];
  });
  return list.length > 0 ? { [key]: list } : {};
}
