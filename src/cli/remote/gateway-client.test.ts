import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { recordingServer } from '../../../test/servers/recording-server.ts';
import type { Json } from '../../core/call.ts';
import { gatewayUnderTest, PROOF_KEY, TOKEN } from '../../gateway/fixtures.ts';
import { connectToGateway } from '../../gateway/running-gateway.ts';
import { gatewayClient } from './gateway-client.ts';

const CALL = { id: 'a', kind: 'tool', name: 'demo.nested', meta: {}, options: {}, wait: true };

const nested = (levels: number): Json => (levels === 0 ? 'x' : [nested(levels - 1)]);

async function openClient() {
  const demo = recordingServer({
    nested: ({ levels }) => ({ content: [], structuredContent: { a: nested(Number(levels)) } }),
  });
  const { url } = await gatewayUnderTest({ servers: { demo }, gateway: { proofKey: PROOF_KEY } });
  const note = { url, token: TOKEN, proofKey: PROOF_KEY, pid: process.pid, project: '/' };
  const connection = await connectToGateway(note);
  if (!connection) throw new Error('The gateway did not answer.');
  const client = gatewayClient(note, connection);
  onTestFinished(() => client.close());
  return client;
}

verifies('L7', 'receives a result as deep as a server may send it', async () => {
  const client = await openClient();
  const result = await client.send('dispatch', { body: { ...CALL, input: { levels: 125 } } });
  expect(result).toMatchObject({ value: { structuredContent: { a: nested(125) } } });
});

verifies('L7', 'reports a line that it cannot accept as an error', async () => {
  const client = await openClient();
  const sent = client.send('dispatch', { body: { ...CALL, input: { levels: 300 } } });
  await expect(sent).rejects.toMatchObject({ code: 'INTERNAL', message: expect.stringContaining('not understood') });
});

verifies('L7', 'sends arguments as deep as a command may have them', async () => {
  const client = await openClient();
  const result = await client.send('dispatch', { body: { ...CALL, input: { levels: 1, a: nested(127) } } });
  expect(result).toMatchObject({ kind: 'complete' });
});
