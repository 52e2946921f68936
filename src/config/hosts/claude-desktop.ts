import { type HostDialect, LOCAL } from './dialect.ts';
import { jsonHost } from './json-host.ts';
import { plain } from './template.ts';

const dialect: HostDialect = {
  title: 'Claude Desktop',
  at: ['mcpServers'],
  syntax: plain,
  // Remote servers are added in its settings window and are in no file.
  transports: ['stdio'],
  lenses: LOCAL,
  wrap: ({ type: _, ...entry }) => entry,
};

/** `claude_desktop_config.json`. */
export const claudeDesktop = jsonHost(dialect);
