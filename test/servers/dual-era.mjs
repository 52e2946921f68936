import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const FORM = { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } };
const POEM = { messages: [{ role: 'user', content: { type: 'text', text: 'Write.' } }], maxTokens: 10 };
const textOf = (value) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });

/** A server of SDK 2.4 that sends its input requests during a call, which only the legacy era allows. */
function createServer() {
  const server = new McpServer({ name: 'dual', version: '1' });
  server.registerTool('era', {}, ({ mcpReq }) => textOf(mcpReq.envelope ? 'modern' : 'legacy'));
  server.registerTool('elicit', {}, async ({ mcpReq }) => textOf(await mcpReq.elicitInput(FORM)));
  server.registerTool('sample', {}, async ({ mcpReq }) => textOf(await mcpReq.requestSampling(POEM)));
  return server;
}

// With the argument `modern-only` it refuses `initialize`.
serveStdio(createServer, { legacy: process.argv[2] === 'modern-only' ? 'reject' : 'serve' });
