import { basename, relative } from 'node:path';
import type { Json, JsonObject } from '../../core/call.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import type { Config, Problem, ServerConfig, SourceLocation, Untrusted } from '../config.ts';
import type { Layer, LayerSetting } from '../read/layer.ts';
import { trustHash } from './trust-book.ts';

/** Asks whether the user has agreed to things of one project, and notes those they have not. */
export interface Trust {
  agreed(thing: Untrusted): boolean;
  readonly refused: readonly Untrusted[];
}

export function openTrust(agrees: (thing: Untrusted) => boolean): Trust {
  const refused: Untrusted[] = [];
  return {
    refused,
    agreed(asked) {
      const yes = agrees(asked);
      if (!yes) refused.push(asked);
      return yes;
    },
  };
}

const MAX_SHOWN_CHARS = 500;

/** What a project may say without being trusted: whatever makes Heddle stricter, and nothing else. */
const HARMLESS: Readonly<Record<string, (value: Json) => boolean>> = {
  'permissions.deny': () => true,
  'permissions.ask': () => true,
  mode: (value) => value === 'strict',
  'builtins.filesystem.enabled': (value) => value === false,
};

const isHarmless = ({ path, value }: LayerSetting) => HARMLESS[path.join('.')]?.(value) === true;

/** A layer of the project without what it may not say yet. */
export function restrained(layer: Layer, trust: Trust, projectFolder: string): Layer {
  const { settings, needsTrust } = layer;
  const [first] = settings.filter((setting) => !isHarmless(setting));
  if (!needsTrust || !first) return layer;
  const said = settings.map(({ path, value }) => `${path.join('.')}: ${JSON.stringify(value)}`);
  const hash = trustHash(Object.fromEntries(settings.map(({ path, value }) => [path.join('.'), value])));
  const file = relative(projectFolder, first.at.file);
  const would = 'put its settings in force';
  const thing = { thing: `settings ${file}`, would, also: said, hash, at: first.at };
  if (trust.agreed(thing)) return layer;
  return {
    ...layer,
    settings: settings.filter(isHarmless),
    problems: [...layer.problems, settingsProblem(file, thing)],
  };
}

/** The same servers, those that the user has not agreed to marked so. */
export function trustedServers(servers: Config['servers'], trust: Trust): Config['servers'] {
  const marked = [...servers].map(([name, server]): readonly [string, ServerConfig] => {
    const starts = server.needsTrust && !server.problem && server.entry?.enabled;
    const asked = starts ? untrusted(server) : undefined;
    return [name, !asked || trust.agreed(asked) ? server : { ...server, problem: serverProblem(server, asked) }];
  });
  return new Map(marked);
}

// As it is written: what a variable or a secret stands for here is not for the eye.
function untrusted({ name, entry, written = {}, at, everywhere }: ServerConfig): Untrusted {
  const { command, args, url, ...others } = written;
  const words = [command, ...(Array.isArray(args) ? args : [])].map(String);
  const would = entry?.type === 'stdio' ? `run ${quoteCommand(words)}` : `connect to ${String(url)}`;
  const also = Object.entries(others).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  const more = { ...(at && { at }), ...(everywhere && { everywhere }) };
  return { thing: `server ${name}`, would, also, hash: trustHash(written), ...more };
}

/** A connector of the project, as a thing to agree to. */
export const untrustedConnector = (name: string, written: JsonObject, at: SourceLocation): Untrusted => ({
  thing: `connector ${name}`,
  would: `ask ${String(written.url)} for servers`,
  also: Object.entries(written).flatMap(([key, value]) =>
    key === 'name' || key === 'url' ? [] : [`${key}: ${JSON.stringify(value)}`],
  ),
  hash: trustHash(written),
  at,
});

/** A bundle of the project, as a thing to agree to: all of it, by its content. */
export const untrustedBundle = (file: string, digest: string): Untrusted => ({
  thing: `bundle ${basename(file)}`,
  would: 'unpack it and run the server in it',
  also: [`SHA-256 ${digest}`],
  hash: digest,
  at: { file, line: 1, column: 1 },
});

/** The problem is shown by every command, so a long command is cut there. `heddle trust` shows all of it. */
const cut = (would: string): string =>
  would.length <= MAX_SHOWN_CHARS
    ? would
    : `${would.slice(0, MAX_SHOWN_CHARS)}… (the first ${MAX_SHOWN_CHARS} of ${would.length} characters)`;

function serverProblem({ name, scope }: ServerConfig, { would, at }: Untrusted): Problem {
  const source = scope === 'connector' ? 'from a connector' : 'with this project';
  return {
    level: 'error',
    code: 'SERVER_UNTRUSTED',
    message: `${name} is untrusted: it came ${source} and would ${cut(would)}.`,
    fix: `Look at it, then run \`heddle trust ${name}\` once (in CI: pass --trust-project).`,
    ...(at && { at }),
    server: name,
  };
}

const settingsProblem = (file: string, { would, at }: Untrusted): Problem => ({
  level: 'warn',
  code: 'CONFIG_INVALID',
  message: `${file} came with this project and is untrusted: it would ${would}.`,
  fix: 'Look at it, then run `heddle trust` once (in CI: pass --trust-project).',
  ...(at && { at }),
});
