import { expect, onTestFinished } from 'vitest';
import type { RemoteEntry, StdioEntry } from '../../src/config/schema/schema.ts';
import type { JsonObject } from '../../src/core/call.ts';
import { openWatchdog } from '../../src/process/watchdog.ts';
import type { Connect, Connection } from '../../src/upstream/connection.ts';
import { entryOf, HELLO, toolCall } from '../../src/upstream/fixtures.ts';
import { connectHttp } from '../../src/upstream/transports/connect-http.ts';
import { connectStdio } from '../../src/upstream/transports/connect-stdio.ts';
import { httpPool } from '../../src/upstream/transports/http-pool.ts';
import { verifies } from '../requirements.ts';
import { listen } from '../servers/http-servers.ts';

const LARGE = 17 * 1024 * 1024;
const capabilities = { form: false, url: false, sampling: false, samplingTools: false, roots: false };

async function opened(connect: Connect): Promise<Connection> {
  const { signal } = new AbortController();
  const connection = await connect({
    server: 'demo',
    signal,
    known: 'legacy',
    capabilities,
    onNotification: () => {},
  });
  onTestFinished(() => connection.close());
  return connection;
}

/** A stdio server that answers each call with a text of the requested length. */
async function overStdio(setting: JsonObject): Promise<Connection> {
  const watchdog = openWatchdog();
  onTestFinished(() => watchdog.close());
  const script = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    const result = method === 'tools/call' ? { a: 'x'.repeat(params.arguments.length) } : ${JSON.stringify(HELLO)};
    if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
  });`;
  const entry = entryOf<StdioEntry>({ command: process.execPath, args: ['-e', script], ...setting });
  return opened(connectStdio(entry, watchdog));
}

async function overHttp(setting: JsonObject): Promise<Connection> {
  const http = await listen(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as {
      id?: number;
      method: string;
      params: { arguments: { length: number } };
    };
    const result: JsonObject = method === 'tools/call' ? { a: 'x'.repeat(params.arguments.length) } : HELLO;
    if (id === undefined) response.writeHead(202).end();
    else response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  const pool = httpPool({});
  onTestFinished(async () => {
    await pool.close();
    await http.close();
  });
  const entry = entryOf<RemoteEntry>({ type: 'http', url: http.url, ...setting });
  return opened(connectHttp(entry, pool));
}

for (const [transport, connect] of Object.entries({ stdio: overStdio, HTTP: overHttp })) {
  verifies('C3', `accepts messages up to maxMessageBytes over ${transport}`, async () => {
    const large = await (await connect({ maxMessageBytes: 2 * LARGE })).send(toolCall('any', { length: LARGE }));
    expect(large.kind === 'complete' && String(large.value.a).length).toBe(LARGE);
    const small = (await connect({ maxMessageBytes: 2048 })).send(toolCall('any', { length: 4096 }));
    await expect(small).rejects.toMatchObject({
      message: expect.stringMatching(/^demo sent a message of .*2048.* the limit\.$/),
      fix: 'Ask for less, or raise `maxMessageBytes` of demo.',
    });
  });
}
