import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { listen } from '../../../test/servers/http-servers.ts';
import type { JsonObject } from '../../core/call.ts';
import { HELLO, toolCall } from '../fixtures.ts';
import { connectSse } from './connect-sse.ts';
import { httpPool } from './http-pool.ts';

verifies('T5', 'tells of a lost session only when the line is closed, so that a retry gets another', async () => {
  let stream: { write(text: string): unknown } | undefined;
  const server = await listen(async (request, response) => {
    if (request.method === 'GET') {
      stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
      return void response.write('event: endpoint\ndata: /messages\n\n');
    }
    const { id, method } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as JsonObject;
    if (method === 'tools/call') return void response.writeHead(404).end();
    response.writeHead(202).end();
    if (id !== undefined) stream?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: HELLO })}\n\n`);
  });
  const pool = httpPool({});
  onTestFinished(async () => {
    await pool.close();
    await server.close();
  });
  const capabilities = { form: false, url: false, sampling: false, samplingTools: false, roots: false };
  const { signal } = new AbortController();
  const open = connectSse({ url: server.url, headers: {} }, pool);
  const connection = await open({
    server: 'demo',
    signal,
    known: undefined,
    capabilities,
    onNotification: () => {},
  });
  let closed = false;
  void connection.closed.then(() => {
    closed = true;
  });
  const call = connection.send(toolCall('echo')).finally(() => expect(closed).toBe(true));
  await expect(call).rejects.toMatchObject({ delivered: 'no', details: { status: 404, sessionGone: true } });
});
