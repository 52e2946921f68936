import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { type ResourceServerOptions, resourceServer, textAt } from '../../test/servers/resource-server.ts';
import { temporaryHeddleClient } from '../../test/temporary-heddle.ts';
import { until } from '../../test/until.ts';
import type { JsonObject } from '../core/call.ts';
import type { OpenOptions } from '../index.ts';
import { Peer } from '../wire/peer.ts';
import type { Transport } from '../wire/transport.ts';

const opened = (servers: NonNullable<OpenOptions['servers']>, config: JsonObject = {}, more: OpenOptions = {}) =>
  temporaryHeddleClient({ env: {}, config, servers, ...more });

const NOTES: ResourceServerOptions = {
  resources: [{ uri: 'note://one', name: 'one' }],
  templates: [{ uriTemplate: 'note://by-day/{day}', name: 'by day' }],
  prompts: [{ name: 'greet', arguments: [{ name: 'who', required: true }, { name: 'how' }] }],
  complete: ({ argument }) => ({ completion: { values: [`${(argument as JsonObject).value}!`] } }),
};

describe.each(['legacy', 'modern'] as const)('the library, with a %s server,', (era) => {
  const notes = () => resourceServer({ ...NOTES, era });

  verifies('X1', 'lists and reads resources, by URI and by template', async () => {
    const server = notes();
    const heddle = await opened({ notes: server });
    expect(await heddle.resources()).toEqual([
      { uri: 'note://one', server: 'notes', definition: { uri: 'note://one', name: 'one' }, flags: [] },
    ]);
    expect(await heddle.resourceTemplates()).toMatchObject([{ uriTemplate: 'note://by-day/{day}', server: 'notes' }]);
    expect(await heddle.readResource('note://one')).toMatchObject({
      value: textAt('note://one', 'at note://one'),
      server: 'notes',
      attempts: 1,
    });
    const { value } = await heddle.readResource('note://by-day/monday');
    expect(value).toMatchObject(textAt('note://by-day/monday', 'at note://by-day/monday'));
    await expect(heddle.readResource('note://two')).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
      details: { uri: 'note://two' },
    });
    expect(server.count('resources/read')).toBe(2);
    await heddle.readResource('heddle://notes/note://two');
    expect(server.requests.at(-1)).toMatchObject(['resources/read', { uri: 'note://two' }]);
  });

  verifies('R6', 'gets prompts by name, with valid arguments', async () => {
    const server = notes();
    const heddle = await opened({ notes: server });
    expect(await heddle.prompts()).toMatchObject([{ name: 'mcp__notes__greet', server: 'notes' }]);
    for (const name of ['mcp__notes__greet', 'notes.greet', 'greet']) {
      const { value } = await heddle.getPrompt(name, { who: 'Ada' });
      expect(value).toMatchObject({ messages: [], received: { name: 'greet', arguments: { who: 'Ada' } } });
    }
    await expect(heddle.getPrompt('greet')).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(heddle.getPrompt('greet', { who: 1 } as never)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(heddle.getPrompt('great', { who: 'x' })).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
      fix: 'Did you mean greet?',
    });
    expect(server.count('prompts/get')).toBe(3);
  });

  verifies('R6', 'completes arguments of prompts and of templates', async () => {
    const server = notes();
    const heddle = await opened({ notes: server });
    const argument = { name: 'who', value: 'A' };
    const ofPrompt = await heddle.complete({ prompt: 'notes.greet' }, argument, { arguments: { how: 'warmly' } });
    expect(ofPrompt.value).toMatchObject({ completion: { values: ['A!'] } });
    expect(server.requests.at(-1)?.[1]).toMatchObject({
      ref: { type: 'ref/prompt', name: 'greet' },
      argument,
      context: { arguments: { how: 'warmly' } },
    });
    await heddle.complete({ template: 'note://by-day/{day}' }, { name: 'day', value: 'mon' });
    expect(server.requests.at(-1)?.[1]).toMatchObject({ ref: { type: 'ref/resource', uri: 'note://by-day/{day}' } });
  });

  verifies('R6', 'subscribes to a resource once, until the last subscriber ends', async () => {
    const server = notes();
    const heddle = await opened({ notes: server });
    const updates: string[] = [];
    const endOne = await heddle.subscribe('note://one', ({ uri }) => void updates.push(`one ${uri}`));
    const endTwo = await heddle.subscribe('heddle://notes/note://one', ({ uri }) => void updates.push(`two ${uri}`));
    expect([...server.subscribedUris]).toEqual(['note://one']);
    server.update('note://one');
    await until('both subscribers are notified', () => updates.length >= 2);
    expect(updates.sort()).toEqual(['one note://one', 'two heddle://notes/note://one']);
    endOne();
    server.update('note://one');
    await until('the other subscriber is notified', () => updates.length === 3);
    expect(updates.at(-1)).toBe('two heddle://notes/note://one');
    endTwo();
    await until('the server is unsubscribed', () => server.subscribedUris.size === 0);
  });
});

verifies('R6', 'passes updates of a sub-resource under its own URI', async () => {
  const server = resourceServer(NOTES);
  const heddle = await opened({ notes: server });
  const updates: string[] = [];
  await heddle.subscribe('heddle://notes/note://one', ({ uri }) => void updates.push(uri));
  server.update('note://one/chapter/2');
  server.update('note://oneself');
  server.update('note://one');
  await until('both updates arrive', () => updates.length === 2);
  expect(updates).toEqual(['heddle://notes/note://one/chapter/2', 'heddle://notes/note://one']);
});

verifies(
  'R6',
  'sends no completion request to a server without the capability, and returns no suggestions',
  async () => {
    const { complete: _, ...rest } = NOTES;
    const server = resourceServer(rest);
    const heddle = await opened({ notes: server });
    const { value } = await heddle.complete({ prompt: 'greet' }, { name: 'who', value: '' });
    expect(value).toEqual({ completion: { values: [] } });
    expect(server.count('completion/complete')).toBe(0);
  },
);

verifies('R6', 'reads a URI of two servers by its qualified name only', async () => {
  const [a, b] = [resourceServer(NOTES), resourceServer(NOTES)];
  const heddle = await opened({ a, b });
  const uris = (await heddle.resources()).map(({ uri }) => uri);
  expect(uris).toEqual(['heddle://a/note://one', 'heddle://b/note://one']);
  expect(await heddle.readResource(uris[1] as string)).toMatchObject({
    server: 'b',
    value: textAt('note://one', 'at note://one'),
  });
  await expect(heddle.readResource('note://one')).rejects.toMatchObject({
    code: 'NAME_AMBIGUOUS',
    details: { candidates: uris },
  });
  expect(await heddle.readResource('note://one', { preferredServer: 'b' })).toMatchObject({ server: 'b' });
  expect(await heddle.readResource('note://by-day/x', { preferredServer: 'a' })).toMatchObject({ server: 'a' });
});

describe('rules', () => {
  const servers = () => ({ notes: resourceServer(NOTES) });

  verifies('G2', 'hides all entries of a denied server', async () => {
    const heddle = await opened(servers(), { permissions: { deny: ['mcp__notes'] } });
    expect(await heddle.resources()).toEqual([]);
    expect(await heddle.prompts()).toEqual([]);
    for (const uri of ['note://one', 'note://by-day/x', 'heddle://notes/note://one']) {
      await expect(heddle.readResource(uri)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
      await expect(heddle.subscribe(uri, () => {})).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    }
    await expect(heddle.getPrompt('greet', { who: 'x' })).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
  });

  verifies('G2', 'denies a URI under every name', async () => {
    const heddle = await opened(servers(), { permissions: { deny: ['note://one', 'mcp__notes__greet'] } });
    for (const uri of ['note://one', 'heddle://notes/note://one']) {
      await expect(heddle.readResource(uri)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    }
    expect(await heddle.prompts()).toEqual([]);
    await heddle.readResource('note://by-day/x');
  });

  verifies('G2', 'requires approval for reads in mode strict, unless the server is allowed', async () => {
    const strict = await opened(servers(), { mode: 'strict' });
    await expect(strict.readResource('note://one')).rejects.toMatchObject({ code: 'APPROVAL_PENDING' });
    const open = await opened(servers(), { mode: 'strict', permissions: { allow: ['mcp__notes'] } });
    await open.readResource('note://one');
  });
});

verifies('T10', 'answers an elicitation during a prompt or a read', async () => {
  const serve = async (transport: Transport) => {
    const peer: Peer = new Peer(transport, {
      server: 'Heddle',
      async answer(method, params) {
        if (method === 'initialize')
          return { protocolVersion: params.protocolVersion ?? '', capabilities: CAPABILITIES, serverInfo: {} };
        if (method === 'prompts/list') return { prompts: [{ name: 'greet' }] };
        if (method === 'resources/list') return { resources: [{ uri: 'u:1', name: 'one' }] };
        if (method !== 'prompts/get' && method !== 'resources/read') return {};
        const answer = await peer.request('elicitation/create', FORM, { deadlineMs: 120_000 });
        return { messages: [], contents: [], answer };
      },
    });
    await peer.start();
  };
  const onElicitation = () => ({ action: 'accept', content: { name: 'Ada' } }) as const;
  const heddle = await opened({ asking: { connect: serve } }, {}, { onElicitation });
  const answer = { action: 'accept', content: { name: 'Ada' } };
  expect((await heddle.getPrompt('greet')).value).toMatchObject({ answer });
  expect((await heddle.readResource('u:1')).value).toMatchObject({ answer });
});

const CAPABILITIES = { tools: {}, prompts: {}, resources: {} };
const FORM = {
  message: 'Who?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
};
