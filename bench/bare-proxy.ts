// The least cost of a gateway in front of an HTTP server: node:http on both sides, bytes piped through.
// node bench/bare-proxy.ts CONFIG
import { Agent, createServer, request as sendRequest } from 'node:http';
import { announce, readUpstream } from './plain-server.ts';

const { hostname, port } = new URL(readUpstream(process.argv[2]).url ?? '');
const agent = new Agent({ keepAlive: true, maxSockets: 256 });

const server = createServer((request, response) => {
  const { url: path, method, headers } = request;
  const forwarded = sendRequest({ hostname, port, path, method, headers, agent }, (upstream) => {
    response.writeHead(upstream.statusCode ?? 502, upstream.headers);
    upstream.pipe(response);
  });
  forwarded.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
  request.pipe(forwarded);
});
announce(server);
