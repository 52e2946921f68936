import { TomlError } from 'smol-toml';
import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Problem } from '../config.ts';
import { type HostDialect, LOCAL, lens, listedTools, type VariableKeys } from './dialect.ts';
import { editToml, parseToml, redactToml } from './edit-toml.ts';
import type { EditableFormat, Exported, HostLocation } from './host-format.ts';
import { hasSwitch, type Plan, planDisable, planEdits } from './plan-edits.ts';
import { readServers, type Tree, wrong } from './read-servers.ts';
import { plain, soleVariable } from './template.ts';
import { tomlStatements } from './toml-statements.ts';

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const isName = (value: Json | undefined): value is string => typeof value === 'string' && NAME.test(value);
const reference = (name: string) => `\${${name}}`;
const BEARER = 'Bearer ';

/** Codex has no references in texts. It lists the names of variables under keys of their own. */
const variables: VariableKeys = {
  from({ env_vars: passed, bearer_token_env_var: bearer, env_http_headers: sent, ...rest }, reject) {
    // An item may also be a table with the source of the variable.
    const list = Array.isArray(passed) ? passed.map((one: Json) => (isObject(one) ? one.name : one)) : [];
    if (passed !== undefined && !(Array.isArray(passed) && list.every(isName))) {
      reject('env_vars', 'an array of names of variables');
    }
    if (bearer !== undefined && !isName(bearer)) reject('bearer_token_env_var', 'the name of a variable');
    if (sent !== undefined && !(isObject(sent) && Object.values(sent).every(isName))) {
      reject('env_http_headers', 'a table of names of variables');
    }
    const env = list.filter(isName).map((name) => [name, reference(name)]);
    const headers = Object.entries(isObject(sent) ? sent : {}).map(([key, name]) => [key, reference(String(name))]);
    if (isName(bearer)) headers.push(['Authorization', BEARER + reference(bearer)]);
    return {
      rest,
      named: {
        ...(env.length > 0 && { env: Object.fromEntries(env) }),
        ...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
      },
    };
  },
  to(ours) {
    const env = divide(ours.env, (name, text) => soleVariable(text) === name);
    const sent = divide(ours.headers, (_, text) => soleVariable(text) !== undefined);
    const signed = divide(sent.rest, (name, text) => name === 'Authorization' && bearerOf(text) !== undefined);
    const { env: _env, headers: _headers, ...others } = ours;
    const bearer = bearerOf(signed.taken.Authorization ?? '');
    const names = Object.entries(sent.taken).map(([key, text]) => [key, soleVariable(text)]);
    return {
      rest: { ...others, ...unlessEmpty('env', env.rest), ...unlessEmpty('headers', signed.rest) },
      named: {
        ...(Object.keys(env.taken).length > 0 && { env_vars: Object.keys(env.taken) }),
        ...(bearer !== undefined && { bearer_token_env_var: bearer }),
        ...(names.length > 0 && { env_http_headers: Object.fromEntries(names) }),
      },
    };
  },
};

const bearerOf = (text: string) => (text.startsWith(BEARER) ? soleVariable(text.slice(BEARER.length)) : undefined);
const unlessEmpty = (name: string, map: JsonObject): JsonObject => (Object.keys(map).length > 0 ? { [name]: map } : {});

function divide(map: Json | undefined, test: (name: string, text: string) => boolean) {
  const texts = Object.entries(isObject(map) ? map : {}).map(([name, text]) => [name, String(text)] as const);
  const taken = texts.filter(([name, text]) => test(name, text));
  return {
    taken: Object.fromEntries(taken) as Readonly<Record<string, string>>,
    rest: Object.fromEntries(texts.filter((one) => !taken.includes(one))) as JsonObject,
  };
}

const dialect: HostDialect = {
  title: 'Codex',
  at: ['mcp_servers'],
  syntax: plain,
  transports: ['stdio', 'http'],
  variables,
  lenses: [
    ...LOCAL,
    lens('cwd', 'text'),
    lens('url', 'text'),
    lens('http_headers', 'map', 'headers'),
    lens('enabled', 'flag'),
    lens('startup_timeout_sec', 'seconds', 'connectTimeoutMs'),
    lens('tool_timeout_sec', 'seconds', 'timeoutMs'),
    listedTools('enabled_tools'),
    lens('disabled_tools', 'literals', 'permissions.deniedTools'),
    lens('oauth.client_id', 'text', 'oauth.clientId'),
    lens('scopes', 'texts', 'oauth.scopes'),
  ],
  wrapped: ['env_vars', 'bearer_token_env_var', 'env_http_headers'],
  wrap: ({ type: _, ...entry }) => entry,
};

/** The format of `config.toml`. */
export const codex: EditableFormat = {
  title: dialect.title,
  transports: dialect.transports,
  hasSwitch: hasSwitch(dialect),
  from(text, { file, at = dialect.at }) {
    const tree = treeOf(file, text);
    return 'root' in tree ? readServers(tree, at, dialect) : { servers: {}, notes: [], problems: [tree] };
  },
  to: (servers, existing = '', where) => change(existing, where, (file) => planEdits({ servers, ...file })),
  redacted: redactToml,
  parse(text, { file, at = dialect.at }) {
    const tree = treeOf(file, text);
    return 'root' in tree ? { root: tree.root, at } : tree;
  },
  disable: (names, text, where) =>
    change(text, where, (file) => ({ edits: planDisable({ names, ...file }), notes: [] })),
  edit: editToml,
};

type PlanContext = Pick<Parameters<typeof planEdits>[0], 'root' | 'at' | 'dialect'>;

function change(
  existing: string,
  { file, at = dialect.at }: HostLocation,
  plan: (file: PlanContext) => Plan,
): Exported {
  const tree = treeOf(file, existing);
  if (!('root' in tree)) return { text: existing, notes: [], problems: [tree] };
  const block = tree.root[String(at[0])];
  if (block !== undefined && !isObject(block)) {
    const problem = wrong(`\`${at[0]}\` must be a table.`, 'Correct it.', tree.locate(at));
    return { text: existing, notes: [], problems: [problem] };
  }
  const { edits, notes } = plan({ root: tree.root, at, dialect });
  const text = editToml(existing, edits);
  if (text !== undefined) return { text, notes, problems: [] };
  const message = `The layout of ${file} cannot be edited without changing other content.`;
  const fix = 'Write its servers as `[mcp_servers.name]` tables, then run the command again.';
  return { text: existing, notes: [], problems: [wrong(message, fix, tree.locate(at))] };
}

function treeOf(file: string, text: string): Tree | Problem {
  try {
    const root = parseToml(text);
    const statements = tomlStatements(text);
    return {
      root,
      locate(path, part = 'value') {
        const nearest = path
          .map((_, index) => path.slice(0, path.length - index))
          .map((start) => statements.find((one) => start.every((step, index) => one.path[index] === step)))
          .find((one) => one !== undefined);
        return locationIn(file, text, nearest && part === 'value' ? nearest.value : (nearest?.start ?? 0));
      },
    };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what = ''] = error.message.split('\n');
    const message = `${file} is not valid TOML: ${what.replace(/^Invalid TOML document: /, '')}.`;
    return wrong(message, 'Correct the TOML there.', { file, line: error.line, column: error.column });
  }
}

function locationIn(file: string, text: string, offset: number) {
  const lines = text.slice(0, offset).split('\n');
  return { file, line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
}
