import type { JsonObject } from '../../core/call.ts';
import { type HostDialect, LOCAL, lens } from './dialect.ts';
import { jsonHost } from './json-host.ts';
import { editorLike } from './template.ts';

const dialect: HostDialect = {
  title: 'Windsurf',
  at: ['mcpServers'],
  syntax: editorLike(
    (inside) => (inside.startsWith('file:') ? { kind: 'foreign', text: `\${${inside}}` } : undefined),
    false,
  ),
  transports: ['stdio', 'http', 'sse'],
  untyped: true,
  lenses: [
    ...LOCAL,
    lens('serverUrl', 'text', 'url'),
    lens('headers', 'map'),
    lens('disabled', 'inverse', 'enabled'),
    lens('disabledTools', 'literals', 'permissions.deniedTools'),
  ],
  others: {
    alwaysAllow: 'set the tools that run without an approval yourself, in `permissions.allowedTools`.',
  },
  unwrap({ url, ...entry }: JsonObject) {
    return url === undefined || entry.serverUrl !== undefined ? entry : { ...entry, serverUrl: url };
  },
  wrapped: ['url'],
  wrap: ({ type: _, ...entry }) => entry,
};

/** The format of `mcp_config.json`. */
export const windsurf = jsonHost(dialect);
