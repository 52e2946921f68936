import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer as McpServer2 } from '@modelcontextprotocol/server';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { verifies } from '../../test/requirements.ts';
import type { Message } from './json-rpc.ts';
import { linkedPair } from './linked-pair.ts';
import { Peer } from './peer.ts';
import type { Transport } from './transport.ts';

const message = (id: number): Message => ({ jsonrpc: '2.0', id, method: 'x' });

async function openPair() {
  const [left, right] = linkedPair();
  const heard: unknown[] = [];
  right.onmessage = ({ id }) => heard.push(id);
  await Promise.all([left.start(), right.start()]);
  return { left, right, heard };
}

verifies('T1', 'delivers on a microtask: never inside send, always before the next turn', async () => {
  const { left, heard } = await openPair();
  const sent = left.send(message(1));
  expect(heard).toEqual([]);
  await sent;
  await Promise.resolve();
  expect(heard).toEqual([1]);
});

verifies('T1', 'keeps what was sent before the other end started, in order', async () => {
  const [left, right] = linkedPair();
  await left.start();
  await left.send(message(1));
  await left.send(message(2));
  const heard: unknown[] = [];
  right.onmessage = ({ id }) => heard.push(id);
  await right.start();
  await left.send(message(3));
  await new Promise(setImmediate);
  expect(heard).toEqual([1, 2, 3]);
});

for (const which of ['left', 'right'] as const) {
  verifies('T1', `closes both ends, once each, when the ${which} one closes`, async () => {
    const { left, right } = await openPair();
    const closed: string[] = [];
    left.onclose = () => closed.push('left');
    right.onclose = () => closed.push('right');
    await (which === 'left' ? left : right).close();
    await Promise.all([left.close(), right.close()]);
    expect(closed.sort()).toEqual(['left', 'right']);
    for (const line of [left, right]) await expect(line.send(message(1))).rejects.toThrow(/closed/);
  });
}

it('delivers what was sent before the close, as a pipe does', async () => {
  const { left, heard } = await openPair();
  await Promise.all([left.send(message(1)), left.close()]);
  await new Promise(setImmediate);
  expect(heard).toEqual([1]);
});

function sdkServer(Server: typeof McpServer | typeof McpServer2) {
  const server = new Server({ name: 'sdk', version: '1' }) as McpServer;
  const inputSchema = { text: z.string() };
  server.registerTool(
    'echo',
    { inputSchema: (Server === McpServer ? inputSchema : z.object(inputSchema)) as never },
    (({ text }: { text: string }) => ({ content: [{ type: 'text', text }] })) as never,
  );
  return server;
}

for (const [name, Server] of [
  ['1', McpServer],
  ['2', McpServer2],
] as const) {
  verifies('T1', `carries a server of the SDK, version ${name}`, async () => {
    const [near, far] = linkedPair();
    const server = sdkServer(Server);
    await server.connect(far as Transport as never);
    const peer = new Peer(near, { server: 'sdk' });
    await peer.start();
    const clientInfo = { name: 'test', version: '1' };
    const ask = { deadlineMs: 120_000 };
    const hello = await peer.request(
      'initialize',
      { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
      ask,
    );
    expect(hello).toMatchObject({ protocolVersion: '2025-11-25', serverInfo: { name: 'sdk' } });
    await peer.notify('notifications/initialized');
    const result = await peer.request('tools/call', { name: 'echo', arguments: { text: 'é✓' } }, ask);
    expect(result).toMatchObject({ content: [{ type: 'text', text: 'é✓' }] });
    await server.close();
    await peer.closed;
  });
}
