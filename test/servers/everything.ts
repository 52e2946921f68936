import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { until } from '../until.ts';

/** The path of the MCP reference server, server-everything. */
export const EVERYTHING = join(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
);

export interface HttpEverything {
  readonly url: string;
  /** The same server behind a proxy that records request bodies. */
  readonly tappedUrl: string;
  readonly received: () => string;
  close(): Promise<void>;
}

/** Starts the reference server over one of its HTTP transports on a free port. */
export async function startEverything(transport: 'streamableHttp' | 'sse' = 'streamableHttp'): Promise<HttpEverything> {
  const path = transport === 'sse' ? '/sse' : '/mcp';
  const port = await freePort();
  const env = { PATH: process.env.PATH, PORT: String(port) };
  const child = spawn(process.execPath, [EVERYTHING, transport], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  let stderr = '';
  child.stderr.on('data', (chunk) => (stderr += chunk));
  await until('the reference server listens', () => /listening|is running/.test(stderr));
  const proxy = await recordingProxy(port);
  return {
    url: `http://127.0.0.1:${port}${path}`,
    tappedUrl: `http://127.0.0.1:${proxy.port}${path}`,
    received: proxy.received,
    async close() {
      proxy.close();
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function recordingProxy(to: number) {
  let received = '';
  const server = createServer(async (incoming, response) => {
    const { method, url: path, headers } = incoming;
    const body = await buffer(incoming);
    received += `${body}\n`;
    const onward = request({ host: '127.0.0.1', port: to, method, path, headers, agent: false }, (upstreamResponse) => {
      response.writeHead(upstreamResponse.statusCode ?? 500, upstreamResponse.headers).flushHeaders();
      upstreamResponse.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    onward.end(body);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { port: (server.address() as AddressInfo).port, received: () => received, close };
}

async function freePort(): Promise<number> {
  const server = createSocketServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}
