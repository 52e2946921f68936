import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { Caller } from '../../src/core/call.ts';
import { verifies } from '../requirements.ts';
import { sseServer } from '../servers/sse-servers.ts';
import { temporaryFolder, temporaryHeddle } from '../temporary-heddle.ts';

const owner: Caller = { id: 'someone', roles: ['owner'], via: 'library' };

/** Connects one server, in a folder of its own and with no more variables than these. */
async function connect(entry: object, variables: Record<string, string>, cwd: string) {
  const env = { PATH: process.env.PATH, ...variables };
  const heddle = await temporaryHeddle({ folder: cwd, env, servers: { demo: entry as never } });
  return heddle.servers.connect(owner, 'demo', new AbortController().signal);
}

verifies('T1', 'uses the proxy of the `env` option', async () => {
  const seen: string[] = [];
  const proxy = createServer((request, response) => {
    seen.push(String(request.url));
    response.writeHead(401).end();
  });
  await new Promise<void>((listening) => proxy.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void proxy.close());
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const cwd = await temporaryFolder();
  const status = await connect({ url: 'http://tools.invalid/mcp' }, { HTTP_PROXY: address }, cwd);
  expect(status.state).toBe('needs-auth');
  expect(seen).toEqual(['http://tools.invalid/mcp']);
});

verifies('T1', 'finds the IDE of the `cwd` option, not of the process', async () => {
  const server = await sseServer();
  onTestFinished(() => server.close());
  const cwd = await temporaryFolder();
  const announced = { pid: process.pid, workspaceFolders: [cwd], ideName: 'Editor', authToken: 't', transport: 'sse' };
  mkdirSync(join(cwd, 'locks'));
  writeFileSync(join(cwd, 'locks', `${new URL(server.url).port}.lock`), JSON.stringify(announced));
  const ide = { lockFolder: join(cwd, 'locks') };
  const status = await connect({ type: 'sse-ide', url: 'http://127.0.0.1', ide }, {}, cwd);
  expect(status).toMatchObject({ state: 'connected' });
});
