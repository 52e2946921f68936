// What a gateway in front of an HTTP server costs at least: node:http on both sides, bytes piped through.
// node bench/bare-proxy.ts CONFIG
import { Agent, request as ask, createServer } from 'node:http';
import { announce, readUpstream } from './plain-server.ts';

const { hostname, port } = new URL(readUpstream(process.argv[2]).url ?? '');
const agent = new Agent({ keepAlive: true, maxSockets: 256 });

const server = createServer((request, response) => {
  const { url: path, method, headers } = request;
  const onward = ask({ hostname, port, path, method, headers, agent }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
  request.pipe(onward);
});
announce(server);
