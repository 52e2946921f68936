import { Client, type Transport } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../core/call.ts';
import { linkedPair } from '../wire/linked-pair.ts';
import { Peer } from '../wire/peer.ts';
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
  const given = readToolArguments(input, ['name', 'times', 'loud', 'tone']);
  given.integer('times', { min: 1, max: 3 });
  given.flag('loud');
  given.choice('tone', ['warm', 'cold']);
  if (given.text('name') === 'unknown') throw new ToolFailure('The name is unknown. Give another.');
  return { content: [{ type: 'text', text: `Hello ${given.text('name')}` }] };
});
const crash = tool('crash', async () => {
  throw new Error('ENOENT: /very/private/place');
});

async function serve(more: Partial<ToolServer> = {}) {
  const [near, far] = linkedPair();
  await serveTools(far, { name: 'demo', version: '1', instructions: 'Be kind.', tools: [greet, crash], ...more });
  const peer = new Peer(near, { server: 'demo' });
  await peer.start();
  const ask = (method: string, params: JsonObject = {}) => peer.request(method, params, { deadlineMs: 120_000 });
  return { ask, peer };
}

const textOf = (result: JsonObject) => (result.content as { text: string }[])[0]?.text;

describe('a client of the era with sessions', () => {
  it.each([
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', '2025-03-26'],
    ['2024-11-05', '2024-11-05'],
    ['1999-01-01', '2025-11-25'],
    [undefined, '2025-11-25'],
  ])('that asks for version %s gets %s', async (asked, given) => {
    const { ask } = await serve();
    expect(await ask('initialize', { protocolVersion: asked })).toEqual({
      protocolVersion: given,
      capabilities: { tools: {} },
      serverInfo: { name: 'demo', version: '1' },
      instructions: 'Be kind.',
    });
  });

  it('gets results without the fields of the later era', async () => {
    const { ask } = await serve();
    expect(await ask('tools/list')).toEqual({ tools: [greet.definition, crash.definition] });
    expect(await ask('tools/call', { name: 'greet', arguments: { name: 'Ada' } })).toEqual({
      content: [{ type: 'text', text: 'Hello Ada' }],
    });
    expect(await ask('ping')).toEqual({});
  });
});

describe('a client of the era without sessions', () => {
  const server = { _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'demo', version: '1' } } };

  it('discovers the server', async () => {
    const { ask } = await serve();
    expect(await ask('server/discover', { _meta: ENVELOPE })).toEqual({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      instructions: 'Be kind.',
      ttlMs: 0,
      cacheScope: 'private',
      ...server,
    });
  });

  it('gets complete results, and lists that say how long they may be kept', async () => {
    const { ask } = await serve();
    const listed = await ask('tools/list', { _meta: ENVELOPE });
    expect(listed).toMatchObject({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...server });
    const called = await ask('tools/call', { name: 'greet', arguments: { name: 'Ada' }, _meta: ENVELOPE });
    expect(called).toEqual({ resultType: 'complete', content: [{ type: 'text', text: 'Hello Ada' }], ...server });
  });

  it('is told which version is spoken when it asks for another', async () => {
    const { ask } = await serve();
    const asked = ask('tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2031-01-01' } });
    const data = { supported: ['2026-07-28'], requested: '2031-01-01' };
    await expect(asked).rejects.toMatchObject({ code: -32022, data });
  });
});

describe('refusals', () => {
  it('answers unknown methods, unknown tools and arguments that are no object with protocol errors', async () => {
    const { ask } = await serve();
    await expect(ask('resources/list')).rejects.toMatchObject({ code: -32601 });
    await expect(ask('constructor')).rejects.toMatchObject({ code: -32601 });
    await expect(ask('tools/call', { name: 'gret' })).rejects.toMatchObject({
      code: -32602,
      message: 'There is no tool named "gret"; tools/list gives the names.',
    });
    await expect(ask('tools/call', {})).rejects.toMatchObject({ code: -32602 });
    await expect(ask('tools/call', { name: 'greet', arguments: [1] })).rejects.toMatchObject({ code: -32602 });
  });

  it('gives the model the words of a failure', async () => {
    const { ask } = await serve();
    expect(await ask('tools/call', { name: 'greet', arguments: { name: 'unknown' } })).toEqual({
      isError: true,
      content: [{ type: 'text', text: 'The name is unknown. Give another.' }],
    });
  });

  it('keeps what it did not expect to itself, and tells its owner', async () => {
    const heard: string[] = [];
    const { ask } = await serve({ trouble: (error) => heard.push(error.message) });
    const result = await ask('tools/call', { name: 'crash' });
    expect(result.isError).toBe(true);
    expect(textOf(result)).not.toContain('private');
    expect(heard).toEqual(['ENOENT: /very/private/place']);
  });

  it.each([
    [{ name: 7 }, 'The argument "name" has to be a string, not 7.'],
    [{ times: 1.5 }, 'The argument "times" has to be a whole number from 1 to 3, not 1.5.'],
    [{ times: 4 }, 'The argument "times" has to be a whole number from 1 to 3, not 4.'],
    [{ times: '2' }, 'The argument "times" has to be a whole number from 1 to 3, not "2".'],
    [{ loud: 'yes' }, 'The argument "loud" has to be true or false, not "yes".'],
    [{ tone: 'mild' }, 'The argument "tone" has to be one of "warm", "cold", not "mild".'],
    [{ nmae: 'x' }, 'There is no argument "nmae". The arguments are: name, times, loud, tone.'],
  ])('names the argument that is wrong in %j', async (input, message) => {
    const { ask } = await serve();
    expect(textOf(await ask('tools/call', { name: 'greet', arguments: input }))).toBe(message);
  });

  it('takes a null for an argument as absent', async () => {
    const { ask } = await serve();
    const nulls = { name: 'Ada', times: null, loud: null, tone: null };
    const [given, absent] = await Promise.all(
      [nulls, { name: 'Ada' }].map((input) => ask('tools/call', { name: 'greet', arguments: input })),
    );
    expect(given).toEqual(absent);
  });

  it('passes a cancellation on to the tool', async () => {
    const running = Promise.withResolvers<void>();
    const stopped = Promise.withResolvers<void>();
    const wait = tool('wait', async (_input, signal) => {
      signal.addEventListener('abort', () => stopped.resolve());
      running.resolve();
      await stopped.promise;
      return { content: [] };
    });
    const { peer } = await serve({ tools: [wait] });
    const abort = new AbortController();
    const asked = peer.request('tools/call', { name: 'wait' }, { deadlineMs: 120_000, signal: abort.signal });
    await running.promise;
    abort.abort();
    await expect(asked).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
    await stopped.promise;
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
