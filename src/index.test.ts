import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../test/requirements.ts';
import { recordingServer, text } from '../test/servers/recording-server.ts';
import { temporaryFolder, temporaryHeddleClient } from '../test/temporary-heddle.ts';
import { openStore } from './store/open-store.ts';

async function opened() {
  const folder = await temporaryFolder();
  const server = recordingServer({ say: ({ words }) => text(String(words)) });
  const heddle = await temporaryHeddleClient({ folder, env: {}, servers: { demo: server } });
  return { heddle, server, store: join(folder, 'home', 'heddle.sqlite') };
}

verifies('X1', 'a program lists and calls tools, and sees who answered and how', async () => {
  const { heddle } = await opened();
  expect((await heddle.tools()).map(({ name }) => name)).toContain('mcp__demo__say');
  const result = await heddle.call('demo.say', { words: 'hello' });
  expect(result).toMatchObject({ value: text('hello'), isError: false, server: 'demo', attempts: 1 });
  expect(result.latencyMs).toBeGreaterThan(0);
});

verifies('X1', 'arguments that JSON has no words for are refused, and no server hears of them', async () => {
  const { heddle, server } = await opened();
  const round: Record<string, unknown> = {};
  round.round = round;
  for (const input of [{ words: 1n }, { words() {} }, round]) {
    const refused = heddle.call('demo.say', input as never);
    await expect(refused).rejects.toMatchObject({ code: 'INPUT_INVALID', message: expect.stringContaining('as JSON') });
  }
  expect(server.calls).toEqual([]);
  await heddle.call('demo.say', { words: new Date(0), more: undefined } as never);
  expect(server.calls).toMatchObject([{ arguments: { words: '1970-01-01T00:00:00.000Z' } }]);
});

verifies('X1', 'servers connect when they are first called, and not before', async () => {
  const { heddle } = await opened();
  const states = async () => (await heddle.servers.list()).map(({ name, state }) => `${name} ${state}`);
  expect(await states()).toEqual(['demo pending', 'filesystem pending']);
  await heddle.call('demo.say', { words: 'hello' });
  expect(await states()).toEqual(['demo connected', 'filesystem pending']);
});

verifies(
  'G11',
  'each call is judged and recorded as it was made, even when the program uses one object again',
  async () => {
    const { heddle, store: location } = await opened();
    const input = { words: 'harmless' };
    await heddle.call('demo.say', input);
    input.words = 'please delete it';
    await expect(heddle.call('demo.say', input)).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED' });
    input.words = 'again';
    await heddle.call('demo.say', input);
    await heddle.close();
    const store = await openStore({ location });
    const records = await store.audit.search({ limit: 10 });
    await store.close();
    const said = records.filter(({ phase }) => phase === 'intent').map(({ detail }) => detail.arguments);
    expect(said).toEqual([{ words: 'again' }, { words: 'harmless' }]);
  },
);
