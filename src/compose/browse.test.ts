import { expect, vi } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { recordingServer, text } from '../../test/servers/recording-server.ts';
import { until } from '../../test/until.ts';
import { anEntry, openWorld } from '../catalog/fixtures.ts';
import { ada } from '../core/fixtures.ts';
import { decides } from '../govern/fixtures.ts';
import { browse } from './browse.ts';

verifies('T3', 'starts unknown servers for the handshake of a client, and waits 250 ms at most', async () => {
  const world = await openWorld({ silent: { connect: async () => {} } });
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  try {
    const { offers } = browse({ ...world, rules: () => decides(), methods: () => new Map() }, world.resolve);
    const found = offers(ada);
    await until('the wait has begun', () => vi.getTimerCount() > 0);
    await vi.advanceTimersByTimeAsync(250);
    expect(await found).toMatchObject({ prompts: true, resources: true });
    expect(world.started).toEqual(['silent']);
  } finally {
    vi.useRealTimers();
  }
});

verifies(
  'R6',
  'what is described at a URI is what would be read there: what is hidden hides nothing else',
  async () => {
    const server = () => recordingServer({ echo: () => text('hi') });
    const remembered = [
      { server: 'a', tools: [], resources: [{ uri: 'u:1', name: 'listed' }] },
      { server: 'b', tools: [], templates: [{ uriTemplate: 'u:{id}', name: 'made' }] },
    ];
    const world = await openWorld(
      { a: server(), b: server() },
      { remembered, hides: ({ servers }) => servers[0] === 'a' },
    );
    const { describe } = browse({ ...world, rules: () => decides(), methods: () => new Map() }, world.resolve);
    const found = await describe(ada, 'u:1', new AbortController().signal);
    expect(found).toMatchObject({ servers: ['b'], name: 'u:1' });
  },
);

verifies('R2', 'a bare prompt name describes that of the server with the highest priority', async () => {
  const server = () => recordingServer({ echo: () => text('hi') });
  const remembered = ['a', 'b'].map((name) => ({ server: name, tools: [], prompts: [{ name: 'greet' }] }));
  const world = await openWorld(
    { a: server(), b: server() },
    { remembered, entries: { b: anEntry({ priority: 1 }) }, waitMs: 0 },
  );
  const { describe } = browse({ ...world, rules: () => decides(), methods: () => new Map() }, world.resolve);
  const found = await describe(ada, 'greet', new AbortController().signal);
  expect(found.publicName).toBe('mcp__b__greet');
});
