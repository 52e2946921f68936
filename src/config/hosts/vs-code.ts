import { type HostDialect, lens, REMOTE } from './dialect.ts';
import { jsonHost } from './json-host.ts';
import { editorLike, type HostReference } from './template.ts';

// VS Code resolves everything in `${…}`; it is never plain text.
function known(inside: string): HostReference {
  const id = /^input:(.+)$/.exec(inside)?.[1];
  return id === undefined ? { kind: 'foreign', text: `\${${inside}}` } : { kind: 'input', id };
}

const dialect: HostDialect = {
  title: 'VS Code',
  at: ['servers'],
  syntax: editorLike(known),
  transports: ['stdio', 'http', 'sse'],
  lenses: [
    lens('command', 'text'),
    lens('args', 'texts'),
    lens('env', 'looseMap'),
    lens('cwd', 'text'),
    ...REMOTE,
    lens('oauth.clientId', 'text'),
  ],
  others: {
    envFile: 'Heddle reads no variables from files. Copy them into `env`.',
    dev: 'it is for developing the server inside VS Code.',
    gallery: '',
    version: '',
  },
  wrapped: ['type'],
  wrap: (entry) => entry,
};

/** The format of `mcp.json` with `servers` and `inputs`. */
export const vsCode = jsonHost(dialect);
