import { expect, onTestFinished } from 'vitest';
import { gatewayUnderTest, TOKEN } from '../../src/gateway/fixtures.ts';
import type { GatewayOptions } from '../../src/gateway/open-gateway.ts';
import { verifies } from '../requirements.ts';
import { ELICITATION_CLIENTS } from '../servers/elicitation-clients.ts';
import { elicitingSessionServer } from '../servers/eliciting-server.ts';
import { taskClient } from '../servers/task-client.ts';

/** The result of a tool that cancels its elicitation. */
const CANCELLED = { content: [{ type: 'text', text: '{"gaveUp":-32001}' }] };

async function opened(gateway: Partial<GatewayOptions> = {}) {
  const server = await elicitingSessionServer();
  onTestFinished(() => server.close());
  return gatewayUnderTest({ servers: { demo: { type: 'http', url: server.url } }, gateway });
}

verifies('P3', 'cancels an elicitation at the client when the server cancels it, and returns the result', async () => {
  const { url } = await opened();
  const withdrawn = Promise.withResolvers<void>();
  const user = (_method: string, _params: object, signal: AbortSignal) => {
    signal.addEventListener('abort', () => withdrawn.resolve());
    return new Promise<never>(() => {}); // The user never answers.
  };
  const client = await ELICITATION_CLIENTS.legacy({ url, token: TOKEN }, { user });
  onTestFinished(() => client.close());
  expect(await client.call('mcp__demo__impatient')).toMatchObject(CANCELLED);
  await withdrawn.promise;
});

verifies('P3', 'ends a gateway task whose server cancels its elicitation', async () => {
  const { call, waitForStatus } = taskClient(await opened({ gatewayTasks: { afterMs: 0 } }));
  const { taskId } = (await call('impatient')).result;
  const done = await waitForStatus(taskId, 'completed');
  expect(done).toMatchObject({ result: CANCELLED });
  expect(done).not.toHaveProperty('inputRequests');
});
