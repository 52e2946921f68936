// The least cost of a gateway in front of a stdio server: node:http, one child, ids mapped in both directions.
// node bench/bare-bridge.ts CONFIG
import { spawn } from 'node:child_process';
import { createServer, type ServerResponse } from 'node:http';
import { announce, readLines, readText, readUpstream } from './plain-server.ts';

const { command = '', args = [] } = readUpstream(process.argv[2]);
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const pending = new Map<number, { readonly id: unknown; readonly response: ServerResponse }>();
let lastId = 0;

readLines(child.stdout, (line) => settle(JSON.parse(line)));

function settle(message: { id: unknown }): void {
  const request = pending.get(message.id as number);
  if (!request) return;
  pending.delete(message.id as number);
  message.id = request.id;
  const body = Buffer.from(JSON.stringify(message));
  request.response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
}

const server = createServer((request, response) => {
  if (request.method !== 'POST') return response.writeHead(405).end();
  return readText(request, (text) => {
    const message = JSON.parse(text);
    if (message.id === undefined) response.writeHead(202).end();
    else {
      const id = ++lastId;
      pending.set(id, { id: message.id, response });
      message.id = id;
    }
    child.stdin.write(`${JSON.stringify(message)}\n`);
  });
});
announce(server);
process.on('SIGINT', () => {
  child.kill();
  process.exit(0);
});
