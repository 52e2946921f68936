import type { JsonObject } from '../../core/call.ts';
import { type HostDialect, LOCAL, lens, listedTools, type Switches } from './dialect.ts';
import { readDotted } from './dotted.ts';
import { jsonHost } from './json-host.ts';
import { bareDollar } from './template.ts';

function namesIn(root: JsonObject, key: string): readonly string[] | undefined {
  const found = readDotted(root, key);
  return Array.isArray(found) ? found.filter((name) => typeof name === 'string') : undefined;
}

/** The lists `mcp.allowed` and `mcp.excluded` enable and disable servers. */
const switches: Switches = {
  isOff(root, name) {
    const allowed = namesIn(root, 'mcp.allowed');
    return namesIn(root, 'mcp.excluded')?.includes(name) === true || allowed?.includes(name) === false;
  },
  edits(root, name, off) {
    const excluded = namesIn(root, 'mcp.excluded') ?? [];
    const allowed = namesIn(root, 'mcp.allowed');
    const others = excluded.filter((one) => one !== name);
    if (off) return excluded.includes(name) ? [] : [{ path: ['mcp', 'excluded'], value: [...excluded, name] }];
    return [
      ...(excluded.includes(name) ? [{ path: ['mcp', 'excluded'], value: others }] : []),
      ...(allowed?.includes(name) === false ? [{ path: ['mcp', 'allowed'], value: [...allowed, name] }] : []),
    ];
  },
};

const dialect: HostDialect = {
  title: 'Gemini CLI',
  at: ['mcpServers'],
  syntax: bareDollar,
  transports: ['stdio', 'http', 'sse'],
  lenses: [
    ...LOCAL,
    lens('cwd', 'text'),
    lens('url', 'text'),
    lens('headers', 'map'),
    lens('description', 'literal'),
    lens('timeout', 'milliseconds', 'timeoutMs'),
    listedTools('includeTools'),
    lens('excludeTools', 'literals', 'permissions.deniedTools'),
    lens('oauth.clientId', 'text'),
    lens('oauth.clientSecret', 'text'),
    lens('oauth.scopes', 'texts'),
  ],
  others: {
    trust:
      'in Gemini CLI it skips approvals; in Heddle `trusted` accepts the annotations that a server gives its tools. ' +
      'Set it yourself.',
    'oauth.enabled': '',
  },
  // In Gemini CLI, `httpUrl` means http and `url` means sse.
  unwrap({ httpUrl, ...entry }) {
    if (httpUrl !== undefined) return { ...entry, url: httpUrl, type: 'http' };
    return entry.url === undefined || entry.type !== undefined ? entry : { ...entry, type: 'sse' };
  },
  wrapped: ['httpUrl', 'type'],
  wrap({ type, url, ...entry }) {
    if (url === undefined) return entry;
    return type === 'http' ? { httpUrl: url, ...entry } : { url, ...entry };
  },
  switches,
};

/** The format of `mcpServers` in Gemini CLI's `settings.json`. */
export const geminiCli = jsonHost(dialect);
