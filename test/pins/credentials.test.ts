import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished } from 'vitest';
import { ROOT } from '../house/temporary-tree.ts';
import { verifies } from '../requirements.ts';
import { listen } from '../servers/http-servers.ts';
import { temporaryFolder } from '../temporary-heddle.ts';

const CREDENTIAL_CODE = /\/src\/upstream\/auth\/|\/node_modules\/(oauth4webapi|jose)\//;

/** Writes down the address of each module that is loaded. */
const recorder = (file: string) => `
  const { appendFileSync } = await import('node:fs');
  (await import('node:module')).registerHooks({
    load(url, context, next) {
      appendFileSync(${JSON.stringify(file)}, url + '\\n');
      return next(url, context);
    },
  });`;

/** A legacy server with one tool. It wants the token, if one is given. */
async function serve(token?: string): Promise<string> {
  const info = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'up', version: '1' } };
  const results: Record<string, object> = {
    initialize: info,
    'tools/list': { tools: [{ name: 'act', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }] },
    'tools/call': { content: [{ type: 'text', text: 'done' }] },
  };
  const server = await listen(async (request, response) => {
    if (token && request.headers.authorization !== `Bearer ${token}`) return response.writeHead(401).end();
    const text = Buffer.concat(await request.toArray()).toString();
    if (text === '') return response.writeHead(405).end();
    const { id, method } = JSON.parse(text);
    if (id === undefined) return response.writeHead(202).end();
    const error = { code: -32_601, message: 'unknown' };
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.end(
      JSON.stringify({ jsonrpc: '2.0', id, ...(results[method] ? { result: results[method] } : { error }) }),
    );
  });
  onTestFinished(() => server.close());
  return server.url;
}

/** Runs `heddle call` with one server, and returns the modules that it loaded. */
async function loadedBy(entry: object): Promise<readonly string[]> {
  const cwd = await temporaryFolder();
  writeFileSync(join(cwd, 'heddle.json'), JSON.stringify({ mcpServers: { up: { trusted: true, ...entry } } }));
  const record = join(cwd, 'loaded');
  const preload = `--import=data:text/javascript,${encodeURIComponent(recorder(record))}`;
  const words = [preload, join(ROOT, 'bin', 'heddle'), 'call', 'up.act', '--trust-project'];
  const env = { PATH: process.env.PATH, HEDDLE_HOME: join(cwd, 'home'), HOME: join(cwd, 'user') };
  const { stdout } = await promisify(execFile)(process.execPath, words, { cwd, env });
  expect(stdout).toBe('done\n');
  return readFileSync(record, 'utf8').trim().split('\n');
}

verifies('Q5', 'a call to a server without credentials loads no code for credentials', async () => {
  const loaded = await loadedBy({ url: await serve() });
  expect(loaded.filter((url) => CREDENTIAL_CODE.test(url))).toEqual([]);
  expect(loaded.some((url) => url.endsWith('/src/upstream/transports/http-transport.ts'))).toBe(true);
});

verifies('Q5', 'a call with an `Authorization` header of the entry loads no code for credentials', async () => {
  const loaded = await loadedBy({ url: await serve('t'), headers: { Authorization: 'Bearer t' } });
  expect(loaded.filter((url) => CREDENTIAL_CODE.test(url))).toEqual([]);
});

verifies('Q5', 'a call with a headers helper loads neither oauth4webapi nor jose', async () => {
  const loaded = await loadedBy({ url: await serve('t'), headersHelper: `echo '{"Authorization": "Bearer t"}'` });
  expect(loaded.filter((url) => /\/node_modules\/(oauth4webapi|jose)\//.test(url))).toEqual([]);
  expect(loaded.some((url) => url.endsWith('/headers-helper.ts'))).toBe(true);
});
