import { describe, expect, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { gatewayUnderTest, TOKEN } from '../../src/gateway/fixtures.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { verifies } from '../requirements.ts';
import { type Behaviour, recordingServer, text } from '../servers/recording-server.ts';
import { type Endpoint, SDK_CLIENTS, type SdkClient } from '../servers/sdk-clients.ts';
import { until } from '../until.ts';

type Connect = (place: Endpoint) => Promise<SdkClient>;

async function connected(connect: Connect, tools: Readonly<Record<string, Behaviour>>, config: JsonObject = {}) {
  const server = recordingServer(tools);
  const { url } = await gatewayUnderTest({ servers: { up: server }, config });
  const client = await connect({ url, token: TOKEN });
  onTestFinished(() => client.close());
  return { client, server };
}

describe.each(SDK_CLIENTS)('%s', (_name, connect) => {
  verifies('P1', 'lists each tool once over several pages', async () => {
    const tools = Object.fromEntries(Array.from({ length: 2300 }, (_, at) => [`tool-${at}`, () => text('')]));
    const { client } = await connected(connect, tools, { builtins: { filesystem: { enabled: false } } });
    const names = (await client.list()).map(({ name }) => name);
    expect(names).toHaveLength(2300);
    expect(new Set(names)).toEqual(new Set(Object.keys(tools).map((name) => `mcp__up__${name}`)));
  });

  verifies('P1', 'calls a tool and gets its progress', async () => {
    const count: Behaviour = ({ to }, { progress }) => {
      for (let at = 1; at <= Number(to); at++) progress({ progress: at, total: to, message: `step ${at}` });
      return text('counted');
    };
    const { client, server } = await connected(connect, { count });
    const received: unknown[] = [];
    const result = await client.call('mcp__up__count', { to: 3 }, { onprogress: (one) => received.push(one) });
    expect(result).toMatchObject(text('counted'));
    expect(received).toEqual([1, 2, 3].map((at) => ({ progress: at, total: 3, message: `step ${at}` })));
    expect(server.calls).toMatchObject([{ name: 'count', arguments: { to: 3 } }]);
  });

  verifies('P1', 'cancels a call, and the server gets the cancellation', async () => {
    const { client, server } = await connected(connect, { forever: () => new Promise(() => {}) });
    const abort = new AbortController();
    const calling = client.call('mcp__up__forever', {}, { signal: abort.signal });
    const refused = expect(calling).rejects.toBeDefined();
    await until('the tool is called', () => server.calls.length === 1);
    abort.abort();
    await refused;
    await until('the call is cancelled', () => server.cancelled.length === 1);
  });
});

describe.each(SDK_CLIENTS)('%s, when a call fails', (_name, connect) => {
  verifies('P1', 'gets a JSON-RPC error for an unknown name', async () => {
    const { client } = await connected(connect, {});
    const error = await client.call('mcp__up__nothing').catch((thrown) => thrown);
    expect(error).toMatchObject({ code: -32602, data: { code: 'NAME_UNKNOWN' } });
  });

  verifies('P1', 'gets a denial as a result with isError', async () => {
    const config = { approvals: { keepOpenMs: 0 }, permissions: { ask: ['mcp__up__risky'] } };
    const { client, server } = await connected(connect, { risky: () => text('done') }, config);
    const result = await client.call('mcp__up__risky');
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result.content)).toContain('[APPROVAL_PENDING]');
    expect(server.calls).toEqual([]);
  });

  verifies('P1', 'gets the JSON-RPC error of the server unchanged', async () => {
    const refuse: Behaviour = () => {
      throw new RpcError(-31999, 'Not on a Sunday', { until: ['Monday', 1, null] });
    };
    const { client } = await connected(connect, { refuse });
    const error = await client.call('mcp__up__refuse').catch((thrown) => thrown);
    expect(error).toMatchObject({ code: -31999, data: { until: ['Monday', 1, null] } });
    expect(error.message).toContain('Not on a Sunday');
  });

  verifies('P1', 'gets an error result of the server unchanged', async () => {
    const { client } = await connected(connect, { fail: () => ({ ...text('It broke.'), isError: true }) });
    expect(await client.call('mcp__up__fail')).toMatchObject({ isError: true, ...text('It broke.') });
  });
});
