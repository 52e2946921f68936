import { request as open } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { describe, expect } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { gatewayUnderTest, JSON_HEADERS, modern, openSession } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { recordingServer, text } from '../servers/recording-server.ts';
import { until } from '../until.ts';

const DRAIN_MS = 10_000;

async function gatewayWithWait() {
  const gate = Promise.withResolvers<JsonObject>();
  const server = recordingServer({ wait: () => gate.promise });
  const gateway = await gatewayUnderTest({ servers: { up: server } });
  return { gate, server, gateway };
}

interface RequestParts {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: JsonObject;
}

/** Sends a request and waits for the first byte of its response. */
function begun({ port }: { readonly port: number }, { method, headers, body }: RequestParts) {
  return new Promise<{ rest: Promise<string> }>((resolve, reject) => {
    const sent = { host: '127.0.0.1', port, path: '/mcp', method, headers: { ...JSON_HEADERS, ...headers } };
    const request = open({ ...sent, agent: false }, (response) => {
      response.once('data', () => resolve({ rest: readText(response) }));
    });
    request.on('error', reject).end(body && JSON.stringify(body));
  });
}

describe('a gateway that closes', () => {
  verifies('P6', 'answers requests in flight, ends streams and refuses new connections', async () => {
    const { gate, server, gateway } = await gatewayWithWait();
    const session = await openSession(gateway);
    const call = gateway.post(...modern('tools/call', { name: 'mcp__up__wait' }));
    const [listen, headers] = modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
    const listening = await begun(gateway, { method: 'POST', headers, body: { jsonrpc: '2.0', ...listen } });
    const stream = await begun(gateway, { method: 'GET', headers: session });
    await until('it is called', () => server.calls.length === 1);
    const closed = gateway.close(DRAIN_MS);
    expect(await listening.rest).toContain('"resultType":"complete"');
    expect(await stream.rest).toBe('');
    await expect(gateway.post({ id: 1, method: 'ping' })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    gate.resolve(text('in the end'));
    expect((await call).json.result).toMatchObject(text('in the end'));
    await closed;
  });

  verifies('P6', 'cancels requests in flight after the drain time', async () => {
    const { server, gateway } = await gatewayWithWait();
    const call = gateway.post(...modern('tools/call', { name: 'mcp__up__wait' }));
    const failed = expect(call).rejects.toThrow();
    await until('it is called', () => server.calls.length === 1);
    await gateway.close(50);
    await failed;
    await until('it is cancelled', () => server.cancelled.length === 1);
  });

  verifies('P6', 'does not wait for idle connections', async () => {
    const { gateway } = await gatewayWithWait();
    const { port } = gateway;
    const status = await new Promise((resolve) => {
      const headers = { ...JSON_HEADERS, connection: 'keep-alive' };
      open({ host: '127.0.0.1', port, path: '/healthz', headers }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode));
      }).end();
    });
    expect(status).toBe(200);
    // Waiting for that connection would take longer than the test may.
    await gateway.close(2 ** 31 - 1);
  });
});
