import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { recordingServer, text } from '../../test/servers/recording-server.ts';
import { openWorld } from '../catalog/fixtures.ts';
import { ada } from '../core/fixtures.ts';
import { decides } from '../govern/fixtures.ts';
import { browse } from './browse.ts';

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
    const { describe } = browse({ ...world, rules: () => decides() }, world.resolve);
    const found = await describe(ada, 'u:1', new AbortController().signal);
    expect(found).toMatchObject({ servers: ['b'], name: 'u:1' });
  },
);
