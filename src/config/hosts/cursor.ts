import { type HostDialect, LOCAL, lens, REMOTE } from './dialect.ts';
import { jsonHost } from './json-host.ts';
import { editorLike } from './template.ts';

const OWN = new Set(['workspaceFolderBasename', 'pathSeparator', '/']);

const dialect: HostDialect = {
  title: 'Cursor',
  at: ['mcpServers'],
  syntax: editorLike((inside) => (OWN.has(inside) ? { kind: 'foreign', text: `\${${inside}}` } : undefined)),
  transports: ['stdio', 'http', 'sse'],
  lenses: [
    ...LOCAL,
    ...REMOTE,
    lens('auth.CLIENT_ID', 'text', 'oauth.clientId'),
    lens('auth.CLIENT_SECRET', 'text', 'oauth.clientSecret'),
    lens('auth.scopes', 'texts', 'oauth.scopes'),
  ],
  others: { envFile: 'Heddle reads no variables from files. Copy them into `env`.' },
  wrapped: ['type'],
  wrap: ({ type, ...entry }) => (type === 'sse' ? { type, ...entry } : entry),
};

/** The format of `.cursor/mcp.json`. */
export const cursor = jsonHost(dialect);
