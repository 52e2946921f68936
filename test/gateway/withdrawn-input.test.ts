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
  const giveUp = new AbortController();
  const server = await elicitingSessionServer([], giveUp.signal);
  onTestFinished(() => server.close());
  const opened = await gatewayUnderTest({ servers: { demo: { type: 'http', url: server.url } }, gateway });
  return { ...opened, giveUp: () => giveUp.abort() };
}

verifies('P3', 'cancels an elicitation at the client when the server cancels it, and returns the result', async () => {
  const { url, giveUp } = await opened();
  const withdrawn = Promise.withResolvers<void>();
  const user = (_method: string, _params: object, signal: AbortSignal) => {
    signal.addEventListener('abort', () => withdrawn.resolve());
    giveUp();
    return new Promise<never>(() => {}); // The user never answers.
  };
  const client = await ELICITATION_CLIENTS.legacy({ url, token: TOKEN }, { user });
  onTestFinished(() => client.close());
  expect(await client.call('mcp__demo__impatient')).toMatchObject(CANCELLED);
  await withdrawn.promise;
});

verifies('P3', 'ends a gateway task whose server cancels its elicitation', async () => {
  const gateway = await opened({ gatewayTasks: { afterMs: 0 } });
  const { call, waitForStatus } = taskClient(gateway);
  const { taskId } = (await call('impatient')).result;
  await waitForStatus(taskId, 'input_required');
  gateway.giveUp();
  const done = await waitForStatus(taskId, 'completed');
  expect(done).toMatchObject({ result: CANCELLED });
  expect(done).not.toHaveProperty('inputRequests');
});
