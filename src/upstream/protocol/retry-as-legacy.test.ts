import { expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import { openWatchdog } from '../../process/watchdog.ts';
import type { Connect } from '../connection.ts';
import { entryOf, serverOf, tinyServer } from '../fixtures.ts';
import { connectStdio } from '../transports/connect-stdio.ts';
import { retryAsLegacy } from './retry-as-legacy.ts';

const signal = new AbortController().signal;

/** A server that ends at any other first message, and the number of its starts. */
function strict(known: string) {
  const script = `
    const answers = {
      initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'strict' } },
      'tools/list': { tools: [{ name: 'act', inputSchema: { type: 'object' } }] },
    };
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      if (id === undefined) return;
      if (!${known}.includes(method)) process.exit(1);
      console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method] }));
    });`;
  const watchdog = openWatchdog();
  onTestFinished(() => watchdog.close());
  const reach = connectStdio(entryOf({ command: process.execPath, args: ['-e', script] }), watchdog);
  const starts: unknown[] = [];
  const connect: Connect = (options) => {
    starts.push(options.known);
    return reach(options);
  };
  return { connect: retryAsLegacy(connect), starts };
}

verifies('T11', 'connects again as legacy when the server ends at the probe, and caches the era', async () => {
  const { connect, starts } = strict("['initialize', 'tools/list']");
  const { server, saved } = serverOf(tinyServer(), { connect });
  await server.connect(signal);
  expect(server.status).toMatchObject({ state: 'connected', tools: 1, info: { era: 'legacy' } });
  expect(starts).toEqual([undefined, 'legacy']);
  expect(saved.at(-1)).toMatchObject({ era: 'legacy' });
  await server.disconnect();
  await server.connect(signal);
  expect(starts).toEqual([undefined, 'legacy', 'legacy']);
});

it('does not connect a third time when the server ends again', async () => {
  const { connect, starts } = strict('[]');
  const options = { server: 'demo', signal, capabilities: NO_CAPABILITIES, onNotification: () => {} };
  const ended = { code: 'UPSTREAM_UNREACHABLE', message: expect.stringContaining('it exited with code 1') };
  await expect(connect({ ...options, known: undefined })).rejects.toMatchObject(ended);
  expect(starts).toEqual([undefined, 'legacy']);
  await expect(connect({ ...options, known: 'legacy' })).rejects.toMatchObject(ended);
  await expect(connect({ ...options, known: 'modern' })).rejects.toMatchObject(ended);
  expect(starts).toEqual([undefined, 'legacy', 'legacy', 'modern']);
});

it('probes again a server that was modern and ended at the probe', async () => {
  const { connect, starts } = strict("['initialize', 'tools/list']");
  const known = { server: 'demo', capabilitySet: 0, signature: 'sig', era: 'modern', at: 1_000_000 } as const;
  const lists = { tools: [], resources: [], templates: [], prompts: [] };
  const { server, time } = serverOf(tinyServer(), { connect, saved: [{ ...known, lists }] });
  await expect(server.connect(signal)).rejects.toMatchObject({ code: 'UPSTREAM_UNREACHABLE' });
  time.pass(5000);
  await server.connect(signal);
  expect(starts).toEqual(['modern', undefined, 'legacy']);
});
