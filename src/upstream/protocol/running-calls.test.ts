import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { never } from '../fixtures.ts';
import { accept, callWith, connectLegacyServer, continued, requestFrom } from './fixtures.ts';

verifies('T10', 'gives a request that names no call to a call that gets input requests, not to a read', async () => {
  const { connection, resume } = await connectLegacyServer(async (server, params) =>
    (params.arguments as JsonObject).isRead ? never() : requestFrom(server),
  );
  const { capabilities: _, ...read } = callWith({ input: { isRead: true } });
  void connection.send(read).catch(() => {});
  const required = await connection.send(callWith());
  expect(required).toMatchObject({ kind: 'input-required', inputRequests: { q1: { method: 'elicitation/create' } } });
  expect(await resume(continued(required, { q1: accept(1) }))).toMatchObject({ value: accept(1) });
});
