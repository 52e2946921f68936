import { createHash } from 'node:crypto';
import { expect, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { gatewayUnderTest, modern } from '../../src/gateway/fixtures.ts';
import { META } from '../../src/wire/mcp.ts';
import { verifies } from '../requirements.ts';
import { elicitingModernServer } from '../servers/eliciting-modern-server.ts';
import { temporaryFolder } from '../temporary-heddle.ts';

const OPS = { id: 'key:ops', roles: ['approver'], via: 'cli' } as const;
const STATE_SECRETS = [Buffer.alloc(32, 'one for all replicas')];
const apiKey = (name: string, role: string) => ({
  ...{ name, roles: [role] },
  sha256: createHash('sha256').update(`hk_${name}`).digest('hex'),
});

/** Returns a function that opens gateways with one store and one secret, over a server that requests input. */
async function replicas() {
  const folder = await temporaryFolder();
  const server = await elicitingModernServer();
  onTestFinished(() => server.close());
  const config = {
    mcpServers: { demo: { type: 'http', url: server.url } },
    mode: 'strict',
    approvals: { keepOpenMs: 0, rules: [{ name: 'r', stages: [{ approvers: ['key:ops'] }] }] },
    gateway: { apiKeys: [apiKey('agent', 'user'), apiKey('ops', 'approver')] },
  };
  const open = () => gatewayUnderTest({ folder, config, gateway: { stateSecrets: STATE_SECRETS } });
  return { open, calls: server.calls };
}

type Replica = Awaited<ReturnType<typeof gatewayUnderTest>>;

async function book({ post }: Replica, more: JsonObject = {}): Promise<JsonObject> {
  const [message, headers] = modern('tools/call', { name: 'mcp__demo__book', arguments: {}, ...more });
  const params = message.params as { _meta: JsonObject };
  const _meta = { ...params._meta, [META.clientCapabilities]: { elicitation: { form: {} } } };
  const { json } = await post(
    { ...message, params: { ...params, _meta } },
    { ...headers, authorization: 'Bearer hk_agent' },
  );
  return json;
}

verifies('G7', 'the requestState of an approved call counts once at two gateways and after a restart', async () => {
  const { open, calls } = await replicas();
  const first = await open();
  expect((await book(first)).result).toMatchObject({ isError: true }); // It waits for an approver.
  const [approval] = await first.heddle.approvals.list(OPS);
  await first.heddle.approvals.decide(OPS, approval?.id ?? '', { verdict: 'approve' });
  const { requestState } = (await book(first)).result as JsonObject;
  expect(requestState).toEqual(expect.any(String));
  const back = { requestState, inputResponses: { who: { action: 'accept', content: { name: 'Ann' } } } };
  const second = await open();
  expect((await book(first, back)).result).not.toHaveProperty('isError');
  for (const replica of [second, first])
    expect(JSON.stringify(await book(replica, back))).toContain('APPROVAL_REQUIRED');
  await first.close();
  const restarted = await open();
  expect(JSON.stringify(await book(restarted, back))).toContain('APPROVAL_REQUIRED');
  expect(calls.map(({ state }) => state)).toEqual([undefined, 's1']);
});
