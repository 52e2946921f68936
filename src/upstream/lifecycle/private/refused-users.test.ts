import { expect } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { UpstreamError } from '../../../core/errors.ts';
import type { Connect, ConnectOptions } from '../../connection.ts';
import { tinyServer } from '../../fixtures.ts';
import { connectInMemory } from '../../transports/connect-in-memory.ts';
import { openPool, withCapabilities } from '../fixtures.ts';

const refused = new UpstreamError('AUTH_NEEDED', 'demo wants a credential.', { delivered: 'no' });

/** Opens a server whose connections can be refused one by one. */
function open(credentials: 'shared' | 'user') {
  const opened: ConnectOptions[] = [];
  const { serve } = tinyServer();
  const connect: Connect = (options) => {
    opened.push(options);
    return connectInMemory(serve)(options);
  };
  return { ...openPool({ plan: { credentials, connect } }), opened };
}

verifies(
  'A1',
  'keeps the state of a server with per-user credentials when the token of one caller is refused',
  async () => {
    const { servers, connectionFor, opened } = open('user');
    await connectionFor('ada');
    await connectionFor('bob');
    expect(opened.map(({ caller }) => caller?.id)).toEqual(['ada', 'bob']);
    opened[0]?.onAuthNeeded?.(refused);
    expect(servers.statusOf('demo')?.state).not.toBe('needs-auth');
    await expect(connectionFor('bob')).resolves.toBeDefined();
  },
);

verifies('A1', 'sets the state of a server with shared credentials when a private connection is refused', async () => {
  const { servers, connectionFor, opened } = open('shared');
  await connectionFor('ada', withCapabilities('form'));
  opened.at(-1)?.onAuthNeeded?.(refused);
  expect(servers.statusOf('demo')?.state).toBe('needs-auth');
});
