// What a gateway in front of a stdio server costs at least: node:http, one child, ids mapped there and back.
// node bench/bare-bridge.ts CONFIG
import { spawn } from 'node:child_process';
import { createServer, type ServerResponse } from 'node:http';
import { announce, readLines, readText, readUpstream } from './plain-server.ts';

const { command = '', args = [] } = readUpstream(process.argv[2]);
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const waiting = new Map<number, { readonly id: unknown; readonly response: ServerResponse }>();
let lastId = 0;

readLines(child.stdout, (line) => settle(JSON.parse(line)));

function settle(message: { id: unknown }): void {
  const asked = waiting.get(message.id as number);
  if (!asked) return;
  waiting.delete(message.id as number);
  message.id = asked.id;
  const body = Buffer.from(JSON.stringify(message));
  asked.response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
}

const server = createServer((request, response) => {
  if (request.method !== 'POST') return response.writeHead(405).end();
  return readText(request, (text) => {
    const message = JSON.parse(text);
    if (message.id === undefined) response.writeHead(202).end();
    else {
      const id = ++lastId;
      waiting.set(id, { id: message.id, response });
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
