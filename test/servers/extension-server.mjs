import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const started = randomUUID();

/** The extensions that the server declares. */
const EXTENSIONS = { 'com.example/maps': { zoom: 3, layers: ['roads'] }, 'com.example/plain': {} };

/** A server of SDK 2.4, in both eras, that returns the capabilities of its client and an id of its process. */
function createServer() {
  const server = new McpServer({ name: 'extension', version: '1' }, { capabilities: { extensions: EXTENSIONS } });
  server.registerTool('declared', {}, ({ mcpReq }) => {
    const modern = mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'];
    const capabilities = modern ?? server.server.getClientCapabilities();
    return { content: [{ type: 'text', text: JSON.stringify({ capabilities, started }) }] };
  });
  return server;
}

serveStdio(createServer, { legacy: 'serve' });
