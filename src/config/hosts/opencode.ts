import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { type HostDialect, lens } from './dialect.ts';
import { jsonHost } from './json-host.ts';
import { curlyEnv } from './template.ts';

/** Splits the array `command` into command and arguments. Other values stay, to be rejected by the type checks. */
function unwrap({ type, command, ...entry }: JsonObject): JsonObject {
  const [first, ...args] = Array.isArray(command) ? command : [command];
  const program = { ...(first !== undefined && { command: first }), ...(args.length > 0 && { args }) };
  return {
    ...entry,
    ...program,
    ...(type === 'local' ? { type: 'stdio' } : type !== 'remote' && type !== undefined && { type }),
  };
}

function wrap({ type, command, args, ...entry }: JsonObject): JsonObject {
  if (type !== 'stdio') return { type: 'remote', ...entry };
  return { type: 'local', command: [command ?? '', ...(Array.isArray(args) ? args : [])], ...entry };
}

const LENSES = [
  lens('command', 'text'),
  lens('args', 'texts'),
  lens('environment', 'map', 'env'),
  lens('url', 'text'),
  lens('headers', 'map'),
];

const first: HostDialect = {
  title: 'opencode',
  at: ['mcp'],
  syntax: curlyEnv,
  transports: ['stdio', 'http', 'sse'],
  untyped: true,
  lenses: [
    ...LENSES,
    lens('enabled', 'flag'),
    lens('oauth.clientId', 'text'),
    lens('oauth.clientSecret', 'text'),
    lens('oauth.scope', 'joined', 'oauth.scopes'),
  ],
  others: { timeout: 'it is opencode’s timeout for the list of tools.' },
  unwrap,
  wrapped: ['type'],
  wrap,
};

/** The second configuration format, which has the servers one level deeper. */
const second: HostDialect = {
  ...first,
  at: ['mcp', 'servers'],
  lenses: [
    ...LENSES,
    lens('cwd', 'text'),
    lens('disabled', 'inverse', 'enabled'),
    lens('timeout.startup', 'milliseconds', 'connectTimeoutMs'),
    lens('timeout.request', 'milliseconds', 'timeoutMs'),
    lens('oauth.client_id', 'text', 'oauth.clientId'),
    lens('oauth.client_secret', 'text', 'oauth.clientSecret'),
    lens('oauth.scope', 'joined', 'oauth.scopes'),
  ],
  others: {},
};

function dialectOf({ mcp }: JsonObject): HostDialect {
  const deeper = isObject(mcp) && isObject(mcp.servers) && mcp.servers.type === undefined;
  return deeper ? second : first;
}

/** The format of `opencode.json` and `opencode.jsonc`. */
export const opencode = jsonHost(dialectOf);
