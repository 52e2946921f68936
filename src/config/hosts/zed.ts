import { isObject } from '../../core/json.ts';
import { type HostDialect, LOCAL, lens, REMOTE } from './dialect.ts';
import { jsonHost } from './json-host.ts';
import { plain } from './template.ts';

const dialect: HostDialect = {
  title: 'Zed',
  at: ['context_servers'],
  syntax: plain,
  transports: ['stdio', 'http'],
  lenses: [...LOCAL, ...REMOTE, lens('enabled', 'flag')],
  others: { source: '' },
  skipReason: ({ command, url, settings, source }) =>
    command === undefined && url === undefined && (settings !== undefined || source === 'extension')
      ? 'it comes from an extension of Zed, and only the extension can start it.'
      : undefined,
  // Older files have command, arguments and environment in one object.
  unwrap({ command, ...entry }) {
    if (!isObject(command)) return command === undefined ? entry : { ...entry, command };
    const { path, args, env } = command;
    return { ...entry, command: path, ...(args !== undefined && { args }), ...(env !== undefined && { env }) };
  },
  wrapped: ['source'],
  wrap: ({ type: _, ...entry }) => ({ source: 'custom', ...entry }),
};

/** The format of `context_servers` in Zed's `settings.json`. */
export const zed = jsonHost(dialect);
