import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

const server = new McpServer({ name: 'instructing', version: '1' }, { instructions: 'Greet the user.' });
server.registerTool('first', {}, () => ({ content: [] }));
await server.connect(new StdioServerTransport());
