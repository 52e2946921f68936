// An MCP App of ext-apps 2 on SDK 2.4. Its first argument names this copy; the second one is `legacy` or `modern`.

import type { McpUiToolMeta } from '@modelcontextprotocol/ext-apps';
import { registerAppResource, registerAppTool } from '@modelcontextprotocol/ext-apps/server';
import { type ContentBlock, McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';

const VIEW = 'ui://weather/view.html';
const DETAIL = 'ui://weather/detail.html';
const REPORT = 'ui://weather/report.html';
const NOTE = 'note://today';

/** Creates the server. It lists only its first view. */
export function createAppServer(copy: string): McpServer {
  const server = new McpServer({ name: 'app', version: '1' });
  const page = (uri: string) => async () => ({
    contents: [{ uri, mimeType: 'text/html', text: `<p>${uri} of ${copy}</p>` }],
  });
  const link = (uri: string): ContentBlock => ({ type: 'resource_link', uri, name: uri });
  const tool = (name: string, ui: McpUiToolMeta, content: readonly ContentBlock[]) =>
    registerAppTool(server, name, { _meta: { ui } }, async () => ({
      content: [{ type: 'text', text: copy }, ...content],
    }));
  tool('show', { resourceUri: VIEW }, []);
  tool('detail', { resourceUri: DETAIL }, []);
  tool('refresh', { resourceUri: VIEW, visibility: ['app'] }, []);
  tool('links', { resourceUri: VIEW }, [
    link(REPORT),
    link(`note://${copy}`),
    link(NOTE),
    { type: 'resource', resource: { uri: VIEW, mimeType: 'text/html', text: copy } },
  ]);
  for (const uri of [VIEW, DETAIL, REPORT]) registerAppResource(server, uri, uri, {}, page(uri));
  for (const uri of [NOTE, `note://${copy}`]) server.registerResource(uri, uri, {}, page(uri));
  server.server.setRequestHandler('resources/list', () => ({ resources: [{ uri: VIEW, name: 'view' }] }));
  return server;
}

const [, , copy = '', era] = process.argv;
if (era === 'legacy') await createAppServer(copy).connect(new StdioServerTransport());
if (era === 'modern') serveStdio(() => createAppServer(copy), { legacy: 'reject' });
