import { type HostDialect, LOCAL, lens, REMOTE } from './dialect.ts';
import { jsonHost } from './json-host.ts';
import { shellLike } from './template.ts';

const dialect: HostDialect = {
  title: 'Claude Code',
  at: ['mcpServers'],
  syntax: shellLike,
  transports: ['stdio', 'http', 'sse', 'ws'],
  lenses: [
    ...LOCAL,
    ...REMOTE,
    lens('headersHelper', 'literal'),
    lens('oauth.clientId', 'text'),
    lens('oauth.callbackPort', 'number'),
    lens('oauth.authServerMetadataUrl', 'text'),
    lens('oauth.scopes', 'joined'),
    lens('oauth.xaa', 'flag'),
  ],
  wrapped: ['type'],
  wrap: ({ type, ...entry }) => (type === 'stdio' ? entry : { type: type ?? 'http', ...entry }),
};

/** The format of `.mcp.json`, and of `mcpServers` in `.claude.json`. */
export const claudeCode = jsonHost(dialect);
