import { Client, type Transport } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../core/call.ts';
import { linkedPair } from '../wire/linked-pair.ts';
import { Peer } from '../wire/peer.ts';
import { DatabaseFailure } from './database/database-failure.ts';
import { readToolArguments } from './read-arguments.ts';
import { type BuiltinTool, serveTools, type ToolServer } from './serve-tools.ts';
import { ToolFailure } from './tool-failure.ts';

const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

const tool = (name: string, run: BuiltinTool['run']): BuiltinTool => ({
  definition: { name, description: name, inputSchema: { type: 'object' } },
  run,
});

const greet = tool('greet', async (input) => {
  const args = readToolArguments(input, ['name', 'times', 'loud', 'tone']);
  args.integer('times', { min: 1, max: 3 });
  args.flag('loud');
  args.choice('tone', ['warm', 'cold']);
  if (args.text('name') === 'unknown') throw new ToolFailure('The name is unknown. Give another.');
  return { content: [{ type: 'text', text: `Hello ${args.text('name')}` }] };
});
const crash = tool('crash', async () => {
  throw new Error('ENOENT: /very/private/place');
});

async function serve(more: Partial<ToolServer> = {}) {
  const [near, far] = linkedPair();
  await serveTools(far, { name: 'demo', version: '1', instructions: 'Be kind.', tools: [greet, crash], ...more });
  const peer = new Peer(near, { server: 'demo' });
  await peer.start();
  const request = (method: string, params: JsonObject = {}) => peer.request(method, params, { deadlineMs: 120_000 });
  return { request, peer };
}

const textOf = (result: JsonObject) => (result.content as { text: string }[])[0]?.text;

describe('a legacy client', () => {
  it.each([
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', '2025-03-26'],
    ['2024-11-05', '2024-11-05'],
    ['1999-01-01', '2025-11-25'],
    [undefined, '2025-11-25'],
  ])('that requests version %s gets %s', async (requested, agreed) => {
    const { request } = await serve();
    expect(await request('initialize', { protocolVersion: requested })).toEqual({
      protocolVersion: agreed,
      capabilities: { tools: {} },
      serverInfo: { name: 'demo', version: '1' },
      instructions: 'Be kind.',
    });
  });

  it('gets results without the fields of 2026-07-28', async () => {
    const { request } = await serve();
    expect(await request('tools/list')).toEqual({ tools: [greet.definition, crash.definition] });
    expect(await request('tools/call', { name: 'greet', arguments: { name: 'Ada' } })).toEqual({
      content: [{ type: 'text', text: 'Hello Ada' }],
    });
    expect(await request('ping')).toEqual({});
  });
});

describe('a modern client', () => {
  const server = { _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'demo', version: '1' } } };

  it('discovers the server', async () => {
    const { request } = await serve();
    expect(await request('server/discover', { _meta: ENVELOPE })).toEqual({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      instructions: 'Be kind.',
      ttlMs: 0,
      cacheScope: 'private',
      ...server,
    });
  });

  it('gets results with resultType, and lists with ttlMs and cacheScope', async () => {
    const { request } = await serve();
    const listed = await request('tools/list', { _meta: ENVELOPE });
    expect(listed).toMatchObject({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...server });
    const called = await request('tools/call', { name: 'greet', arguments: { name: 'Ada' }, _meta: ENVELOPE });
    expect(called).toEqual({ resultType: 'complete', content: [{ type: 'text', text: 'Hello Ada' }], ...server });
  });

  it('gets the supported versions with error -32022 when it requests another version', async () => {
    const { request } = await serve();
    const rejected = request('tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2031-01-01' } });
    const data = { supported: ['2026-07-28'], requested: '2031-01-01' };
    await expect(rejected).rejects.toMatchObject({ code: -32022, data });
  });
});

describe('failures', () => {
  it('are JSON-RPC errors for unknown methods, unknown tools and arguments that are not an object', async () => {
    const { request } = await serve();
    await expect(request('resources/list')).rejects.toMatchObject({ code: -32601 });
    await expect(request('constructor')).rejects.toMatchObject({ code: -32601 });
    await expect(request('tools/call', { name: 'gret' })).rejects.toMatchObject({
      code: -32602,
      message: 'There is no tool named "gret"; tools/list gives the names.',
    });
    await expect(request('tools/call', {})).rejects.toMatchObject({ code: -32602 });
    await expect(request('tools/call', { name: 'greet', arguments: [1] })).rejects.toMatchObject({ code: -32602 });
  });

  it('are tool results with the message of a ToolFailure', async () => {
    const { request } = await serve();
    expect(await request('tools/call', { name: 'greet', arguments: { name: 'unknown' } })).toEqual({
      isError: true,
      content: [{ type: 'text', text: 'The name is unknown. Give another.' }],
    });
  });

  it('have the code of a failure in `_meta`, and say when the outcome is unknown', async () => {
    const codes = ['TIMED_OUT', 'OUTCOME_UNKNOWN'] as const;
    const tools = codes.map((code) =>
      tool(code, async () => {
        throw new DatabaseFailure(code, 'It failed.');
      }),
    );
    const { request } = await serve({ tools });
    const [late, unknown] = await Promise.all(codes.map((name) => request('tools/call', { name })));
    expect(late?._meta).toEqual({ 'dev.heddle/code': 'TIMED_OUT' });
    expect(unknown?._meta).toEqual({ 'dev.heddle/code': 'OUTCOME_UNKNOWN', 'dev.heddle/outcome': 'unknown' });
    const modern = await request('tools/call', { name: 'TIMED_OUT', _meta: ENVELOPE });
    expect(modern._meta).toMatchObject({ 'dev.heddle/code': 'TIMED_OUT' });
  });

  it('hide the message of an unexpected error, and pass it to `trouble`', async () => {
    const reported: string[] = [];
    const { request } = await serve({ trouble: (error) => reported.push(error.message) });
    const result = await request('tools/call', { name: 'crash' });
    expect(result.isError).toBe(true);
    expect(textOf(result)).not.toContain('private');
    expect(reported).toEqual(['ENOENT: /very/private/place']);
  });

  it.each([
    [{ name: 7 }, 'The argument "name" has to be a string, not 7.'],
    [{ times: 1.5 }, 'The argument "times" has to be a whole number from 1 to 3, not 1.5.'],
    [{ times: 4 }, 'The argument "times" has to be a whole number from 1 to 3, not 4.'],
    [{ times: '2' }, 'The argument "times" has to be a whole number from 1 to 3, not "2".'],
    [{ loud: 'yes' }, 'The argument "loud" has to be true or false, not "yes".'],
    [{ tone: 'mild' }, 'The argument "tone" has to be one of "warm", "cold", not "mild".'],
    [{ nmae: 'x' }, 'There is no argument "nmae". The arguments are: name, times, loud, tone.'],
  ])('name the invalid argument in %j', async (input, message) => {
    const { request } = await serve();
    expect(textOf(await request('tools/call', { name: 'greet', arguments: input }))).toBe(message);
  });

  it('treat a null argument as absent', async () => {
    const { request } = await serve();
    const nulls = { name: 'Ada', times: null, loud: null, tone: null };
    const [withNulls, absent] = await Promise.all(
      [nulls, { name: 'Ada' }].map((input) => request('tools/call', { name: 'greet', arguments: input })),
    );
    expect(withNulls).toEqual(absent);
  });

  it('abort the signal of a tool when its call is cancelled', async () => {
    const running = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    const wait = tool('wait', async (_input, signal) => {
      signal.addEventListener('abort', () => aborted.resolve());
      running.resolve();
      await aborted.promise;
      return { content: [] };
    });
    const { peer } = await serve({ tools: [wait] });
    const abort = new AbortController();
    const cancelled = peer.request('tools/call', { name: 'wait' }, { deadlineMs: 120_000, signal: abort.signal });
    await running.promise;
    abort.abort();
    await expect(cancelled).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
    await aborted.promise;
  });
});

describe('the official client', () => {
  it.each(['legacy', 'auto'] as const)('lists and calls tools, negotiating the version as %s', async (mode) => {
    const [near, far] = linkedPair();
    await serveTools(far, { name: 'demo', version: '1', tools: [greet] });
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(near as Transport);
    expect(client.getProtocolEra()).toBe(mode === 'auto' ? 'modern' : 'legacy');
    expect(client.getServerVersion()).toMatchObject({ name: 'demo', version: '1' });
    expect((await client.listTools()).tools.map((one) => one.name)).toEqual(['greet']);
    expect(await client.callTool({ name: 'greet', arguments: { name: 'Ada' } })).toMatchObject({
      content: [{ type: 'text', text: 'Hello Ada' }],
    });
    await client.close();
  });
});
