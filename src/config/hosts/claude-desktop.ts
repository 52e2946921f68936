import { type HostDialect, LOCAL } from './dialect.ts';
import { jsonHost } from './json-host.ts';
import { plain } from './template.ts';

const dialect: HostDialect = {
  title: 'Claude Desktop',
  at: ['mcpServers'],
  syntax: plain,
  // Claude Desktop keeps remote servers in no file; users add them in its settings window.
  transports: ['stdio'],
  lenses: LOCAL,
  wrap: ({ type: _, ...entry }) => entry,
};

/** The format of `claude_desktop_config.json`. */
export const claudeDesktop = jsonHost(dialect);
