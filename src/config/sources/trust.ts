import { basename, relative } from 'node:path';
import type { Json, JsonObject } from '../../core/call.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import type { Config, Problem, ServerConfig, SourceLocation, Untrusted } from '../config.ts';
import type { Layer, LayerSetting } from '../read/layer.ts';
import type { LayerPolicy } from '../read/layer-policies.ts';
import {
  NO_APPROVALS,
  NO_DATABASES,
  NO_FILES,
  NO_SAMPLING,
  STRICT,
  type Substitute,
  substituteAt,
} from '../read/strict-by-error.ts';
import { helperCommand } from '../schema/helper-command.ts';
import type { BundleContent } from './bundle.ts';
import { connectionsIn, hookRuns, withoutCredentials } from './settings-effects.ts';
import { trustHash } from './trust-book.ts';

/** Checks things against the user's trust decisions, and collects those that are not trusted. */
export interface Trust {
  isTrusted(thing: Untrusted): boolean;
  readonly untrusted: readonly Untrusted[];
}

export function openTrust(check: (thing: Untrusted) => boolean): Trust {
  const untrusted: Untrusted[] = [];
  return {
    untrusted,
    isTrusted(thing) {
      const trusted = check(thing);
      if (!trusted) untrusted.push(thing);
      return trusted;
    },
  };
}

const MAX_SHOWN_CHARS = 500;

/** The settings that an untrusted project may have: those that make Heddle stricter. */
const HARMLESS: Readonly<Record<string, (value: Json) => boolean>> = {
  'permissions.deny': () => true,
  'permissions.ask': () => true,
  'approvals.sensitiveWords': () => true,
  'approvals.unattended': (value) => value === true,
  mode: (value) => value === 'strict',
  'sampling.permission': (value) => value === 'deny',
};

/** Settings that may make Heddle stricter, and what holds until they are trusted. A project must not choose what they run. */
const SUBSTITUTES: readonly (readonly [RegExp, Substitute])[] = [
  [/^approvals\.rules$/, NO_APPROVALS],
  [/^hooks\.(?!onApproval$)/, STRICT],
  [/^(limits\.|budgets\.(?!warnAt$))/, STRICT],
  [/^sampling\./, NO_SAMPLING],
  [/^builtins\.filesystem\.(allowedPaths|clientRoots|maxFileBytes)$/, NO_FILES],
  [/^builtins\.database\.(queryTimeoutMs|maxRows)$/, NO_DATABASES],
];

const isHarmless = ({ path, value }: LayerSetting) =>
  HARMLESS[path.join('.')]?.(value) === true || limitsBuiltIn(path, value);

const limitsBuiltIn = ([first, , third = '']: LayerSetting['path'], value: Json) =>
  first === 'builtins' && ((third === 'enabled' && value === false) || (third === 'readOnly' && value === true));

const allows = ({ rule }: LayerPolicy) => rule.effect === 'allow' && !rule.shadow;

/** Returns the substitutes for the settings of an untrusted layer, each with its place. */
function substitutesFor(settings: readonly LayerSetting[]): ReadonlyMap<Substitute, SourceLocation> {
  const found = settings.flatMap((setting) => {
    const key = setting.path.join('.');
    const substitute = hasEffect(setting) ? SUBSTITUTES.find(([pattern]) => pattern.test(key))?.[1] : undefined;
    return substitute ? [[substitute, setting.at] as const] : [];
  });
  return new Map(found);
}

function hasEffect(setting: LayerSetting): boolean {
  const { path, value } = setting;
  if (isHarmless(setting) || value === 'allow' || value === false) return false;
  // Without any folder the file tools may use none; another empty list does nothing.
  return !Array.isArray(value) || value.length > 0 || path.at(-1) === 'allowedPaths';
}

const isGuarded = ({ path, value }: LayerSetting) => path[0] === 'mode' && value === 'guarded';

/**
 * Removes from an untrusted layer all settings that do not make Heddle stricter. Where a removed one may have been
 * stricter, its substitute holds: an edit of a trusted file must not put its limits out of force.
 */
export function withoutUntrusted(layer: Layer, trust: Trust, projectFolder: string): Layer {
  const { settings, policies, needsTrust } = layer;
  const [first] = [...settings.filter((setting) => !isHarmless(setting)), ...(policies?.filter(allows) ?? [])];
  if (!needsTrust || !first) return layer;
  // As for servers, the text counts: a new value of a variable or secret leaves it trusted, and is not shown.
  const texts = settings.map(({ path, value, written = value }) => ({ path, written }));
  const rules = policies?.map(({ rule }) => rule) ?? [];
  const lines = [
    ...texts.map(({ path, written }) => `${path.join('.')}: ${JSON.stringify(withoutCredentials({ path, written }))}`),
    ...rules.map((rule) => `policies: ${JSON.stringify(rule)}`),
  ];
  const values = texts.map(({ path, written }) => [path.join('.'), written] as const);
  const hash = trustHash(
    Object.fromEntries([...values, ...(policies ? [['policies', rules as unknown as Json]] : [])]),
  );
  const file = relative(projectFolder, first.at.file);
  const would = `put its settings in force${hookRuns(texts)}${connectionsIn(texts)}`;
  const thing = { thing: `settings ${file}`, would, also: lines, hash, at: first.at };
  if (trust.isTrusted(thing)) return layer;
  const substitutes = [...substitutesFor(settings)];
  return {
    ...layer,
    settings: [
      ...substitutes.map(([substitute, at]) => substituteAt(substitute, at)),
      ...settings.filter(isGuarded).map((setting) => ({ ...setting, isMinimum: true as const })),
      ...settings.filter(isHarmless),
    ],
    ...(policies && { policies: policies.filter((policy) => !allows(policy)) }),
    problems: [
      ...layer.problems,
      settingsProblem(
        file,
        thing,
        substitutes.map(([{ consequence }]) => consequence),
      ),
    ],
  };
}

/** Adds the problem SERVER_UNTRUSTED to each server that the user does not trust. */
export function trustedServers(servers: Config['servers'], trust: Trust): Config['servers'] {
  const marked = [...servers].map(([name, server]): readonly [string, ServerConfig] => {
    const starts = server.needsTrust && !server.problem && server.entry?.enabled;
    const thing = starts ? toThing(server) : undefined;
    return [name, !thing || trust.isTrusted(thing) ? server : { ...server, problem: serverProblem(server, thing) }];
  });
  return new Map(marked);
}

// Shows the entry as it is written: values of variables and secrets must not be shown.
function toThing({ name, entry, written = {}, at, everywhere }: ServerConfig): Untrusted {
  const more = { ...(at && { at }), ...(everywhere && { everywhere }) };
  return { thing: `server ${name}`, ...effectsOf(written, entry?.type === 'stdio'), hash: trustHash(written), ...more };
}

/** Describes what a server runs or connects to, and all other fields of its entry. */
function effectsOf(written: JsonObject, isLocal: boolean): Pick<Untrusted, 'would' | 'also'> {
  const { command, args, url } = written;
  const argv = [command, ...(Array.isArray(args) ? args : [])].map(String);
  const would = isLocal ? `run ${quoteCommand(argv)}` : `${helperRun(written)}connect to ${String(url)}`;
  const shown = isLocal ? ['command', 'args'] : ['url'];
  const others = Object.entries(written).filter(([key]) => !shown.includes(key));
  return { would, also: others.map(([key, value]) => `${key}: ${JSON.stringify(value)}`) };
}

/** Names the command of a `headersHelper`: it runs on this machine, like that of a local server. */
function helperRun({ headersHelper: helper }: JsonObject): string {
  if (helper === undefined) return '';
  return `run ${quoteCommand(helperCommand(Array.isArray(helper) ? helper.map(String) : String(helper)))} and `;
}

/** Returns a connector of the project as a thing to trust. */
export const untrustedConnector = (name: string, written: JsonObject, at: SourceLocation): Untrusted => ({
  thing: `connector ${name}`,
  would: `fetch servers from ${String(written.url)}`,
  also: Object.entries(written).flatMap(([key, value]) =>
    key === 'name' || key === 'url' ? [] : [`${key}: ${JSON.stringify(value)}`],
  ),
  hash: trustHash(written),
  at,
});

/** Removes the connectors that were found untrusted: servers of type `proxy` would be sent their tokens. */
export function withoutUntrustedConnectors(layer: Layer, { untrusted }: Trust): Layer {
  if (!layer.needsTrust || layer.connectors.length === 0) return layer;
  const things = new Set(untrusted.map(({ thing }) => thing));
  return { ...layer, connectors: layer.connectors.filter(({ name }) => !things.has(`connector ${name}`)) };
}

/** Returns a bundle of the project as a thing to trust, with its server, its defaults and the digest of its whole content. */
export function untrustedBundle(file: string, { digest, name, entry, settings }: BundleContent): Untrusted {
  const { type, command } = entry;
  const { would, also } = effectsOf(entry, type === 'stdio' || (type === undefined && command !== undefined));
  // The command may consist of them.
  const defaults = [...settings].flatMap(([variable, value]) =>
    value === undefined ? [] : [`\${${variable}} unless you set it: ${JSON.stringify(value)}`],
  );
  return {
    thing: `bundle ${basename(file)}`,
    would: `unpack it and ${would}`,
    also: [`server: ${name}`, ...also, ...defaults, `SHA-256 ${digest}`],
    hash: digest,
    at: { file, line: 1, column: 1 },
  };
}

/** Truncates a command to 500 characters: every command prints the problem. `heddle trust` shows all of it. */
const truncate = (would: string): string =>
  would.length <= MAX_SHOWN_CHARS
    ? would
    : `${would.slice(0, MAX_SHOWN_CHARS)}… (the first ${MAX_SHOWN_CHARS} of ${would.length} characters)`;

function serverProblem({ name, scope }: ServerConfig, { would, at }: Untrusted): Problem {
  const source = scope === 'connector' ? 'from a connector' : 'with this project';
  return {
    level: 'error',
    code: 'SERVER_UNTRUSTED',
    message: `${name} is untrusted: it came ${source} and would ${truncate(would)}.`,
    fix: `Review it, then run \`heddle trust ${name}\` once (in CI: pass --trust-project).`,
    ...(at && { at }),
    server: name,
  };
}

const settingsProblem = (file: string, { would, at }: Untrusted, consequences: readonly string[]): Problem => {
  const until = consequences.length === 0 ? '' : ` Until you trust it, ${consequences.join(', and ')}.`;
  return {
    level: 'warn',
    code: 'CONFIG_INVALID',
    message: `${file} came with this project and is untrusted: it would ${truncate(would)}. Only its rules that deny or ask count.${until}`,
    fix: 'Review it, then run `heddle trust` once (in CI: pass --trust-project).',
    ...(at && { at }),
  };
};
