// Calls a tool over HTTP as often as the parent process requests, 32 at a time over keep-alive connections.
// Usage: `node load.mjs URL TOKEN TOOL`
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';

const [url, token, name] = process.argv.slice(2);
const CLIENTS = 32;
const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
let session = {};

function post(message) {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', agent, headers: { ...headers, ...session } };
    const sent = request(url, options, async (response) => {
      resolve({ body: JSON.parse((await text(response)) || 'null'), headers: response.headers });
    });
    sent.on('error', reject).end(JSON.stringify({ jsonrpc: '2.0', ...message }));
  });
}

async function client(calls, first) {
  let wrong = 0;
  for (let at = 0; at < calls; at++) {
    const message = `${first}-${at}`;
    const { body } = await post({ id: message, method: 'tools/call', params: { name, arguments: { message } } });
    if (body?.id !== message || body.result?.content?.[0]?.text !== message) wrong++;
  }
  return wrong;
}

process.on('message', async (calls) => {
  if (!session['mcp-session-id']) {
    const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'load', version: '0' } };
    const opened = await post({ id: 0, method: 'initialize', params: hello });
    session = { 'mcp-session-id': opened.headers['mcp-session-id'] };
  }
  const shares = Array.from({ length: CLIENTS }, (_, at) => Math.floor((calls + at) / CLIENTS));
  const wrong = await Promise.all(shares.map(client));
  process.send({ done: shares.reduce((a, b) => a + b), wrong: wrong.reduce((a, b) => a + b) });
});
process.on('disconnect', () => process.exit(0));
