import type { JsonObject } from '../../core/call.ts';
import { type HostDialect, LOCAL, lens, offeredTools, type Switches } from './dialect.ts';
import { readDotted } from './dotted.ts';
import { jsonHost } from './json-host.ts';
import { bareDollar } from './template.ts';

function namesIn(root: JsonObject, key: string): readonly string[] | undefined {
  const found = readDotted(root, key);
  return Array.isArray(found) ? found.filter((name) => typeof name === 'string') : undefined;
}

/** `mcp.allowed` and `mcp.excluded` say for all servers which of them are used. */
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
    lens('description', 'word'),
    lens('timeout', 'milliseconds', 'timeoutMs'),
    offeredTools('includeTools'),
    lens('excludeTools', 'words', 'permissions.deniedTools'),
    lens('oauth.clientId', 'text'),
    lens('oauth.clientSecret', 'text'),
    lens('oauth.scopes', 'texts'),
  ],
  others: {
    trust:
      'in Gemini CLI it switches questions off; in Heddle `trusted` means believing what a server says of its tools. ' +
      'Decide it again.',
    'oauth.enabled': '',
  },
  // Which of the two addresses is written is how Gemini CLI says http or sse.
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

/** `mcpServers` in Gemini CLI's `settings.json`. */
export const geminiCli = jsonHost(dialect);
