import { getEventListeners } from 'node:events';
import { Agent } from 'undici';
import { expect, onTestFinished } from 'vitest';
import { UpstreamError } from '../../src/core/errors.ts';
import { HttpClientTransport } from '../../src/upstream/transports/http-transport.ts';
import { Peer } from '../../src/wire/peer.ts';
import { within } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { type Fault, faultyHttp, refuse } from '../servers/faulty-http.ts';
import { until } from '../until.ts';

const CALLS = process.env.HEDDLE_TEST_SCALE === 'full' ? 10_000 : 2000;
const DONE = { content: [{ type: 'text', text: 'done' }] };
const STREAM = { 'content-type': 'text/event-stream' };

async function started() {
  const server = await faultyHttp();
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const transport = new HttpClientTransport({ server: 'demo', url: new URL(server.url), dispatcher, retryMs: 1 });
  const peer = new Peer(transport, { server: 'demo' });
  onTestFinished(async () => {
    await peer.close();
    await dispatcher.destroy();
    await server.close();
  });
  await peer.request('initialize', {}, { deadlineMs: 120_000 });
  transport.setProtocolVersion('2025-06-18');
  const act = (signal?: AbortSignal) => peer.request('tools/call', { name: 'act' }, { deadlineMs: 120_000, signal });
  return { ...server, transport, peer, act };
}

const cutInBody: Fault = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
  response.write('{"jsonrpc":"2.0",', () => response.destroy());
};

verifies('T5', 'fails a call within a second when the socket closes in the middle of the body', async () => {
  const { act, faults } = await started();
  faults.push(cutInBody, cutInBody);
  for (const _ of faults.slice()) {
    await within(1000, () => expect(act()).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'maybe' }));
  }
  await expect(act()).resolves.toEqual(DONE);
});

verifies('T5', 'closes the transport after three network failures in a row, of any kind', async () => {
  const { transport, peer, act, faults } = await started();
  faults.push(cutInBody, (response) => void response.destroy(), cutInBody);
  for (const _ of faults.slice()) await expect(act()).rejects.toMatchObject({ delivered: 'maybe' });
  await peer.closed;
  expect(transport.closeReason()).toMatch(/^3 network failures in a row \(\w+\)\.$/);
});

verifies('T5', 'closes the transport after three failures to reach a server that has closed', async () => {
  const { peer, act, close } = await started();
  await close();
  for (let failures = 0; failures < 3; failures++) await expect(act()).rejects.toBeInstanceOf(UpstreamError);
  await peer.closed;
});

verifies('T5', 'keeps the transport open when an HTTP response arrives between failures', async () => {
  const { peer, act, faults } = await started();
  for (let repeat = 0; repeat < 5; repeat++) {
    faults.push(cutInBody, cutInBody, (response) => void response.writeHead(500).end());
    for (const _ of faults.slice()) await expect(act()).rejects.toMatchObject({ delivered: 'maybe' });
  }
  await expect(act()).resolves.toEqual(DONE);
  await peer.close();
});

verifies('T5', 'keeps at most 256 answered streams that the server leaves open', async () => {
  const { act, faults } = await started();
  let open = 0;
  for (let call = 0; call < 400; call++) {
    faults.push((response) => {
      open++;
      response.on('close', () => open--);
      const answer = { jsonrpc: '2.0', id: call + 2, result: DONE };
      response.writeHead(200, STREAM).write(`data: ${JSON.stringify(answer)}\n\n`);
    });
  }
  for (const _ of faults.slice()) await act();
  await until('the oldest streams are closed', () => open <= 256);
});

verifies(
  'T6',
  `leaves no listener on the signal after ${CALLS} calls, some of them refused, and the transport still works`,
  async () => {
    const { act, faults } = await started();
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    onTestFinished(() => void process.off('warning', onWarning));
    const { signal } = new AbortController();
    const worker = async () => {
      for (let call = 0; call < CALLS / 20; call++) {
        if (call % 50 === 25) faults.push(refuse(429, { 'retry-after': '0' }), refuse(400));
        await act(signal).catch(() => {});
      }
    };
    await Promise.all(Array.from({ length: 20 }, worker));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(warnings).toEqual([]);
    await expect(act(signal)).resolves.toEqual(DONE);
  },
);
