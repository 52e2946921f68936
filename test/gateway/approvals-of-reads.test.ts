import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import type { Approval } from '../../src/core/records/approval.ts';
import { gatewayUnderTest, modern, openSession } from '../../src/gateway/fixtures.ts';
import { SERVERS } from '../e2e/heddle-command.ts';
import { verifies } from '../requirements.ts';
import { temporaryFolder } from '../temporary-heddle.ts';
import { until } from '../until.ts';

const OPS = { id: 'key:ops', roles: ['approver'], via: 'cli' } as const;
const AGENT = { authorization: 'Bearer hk_agent' };
const FORMS = { elicitation: { form: {} } };

/** A gateway with the counting server, whose reads need an approval. */
async function open(approvals: JsonObject = {}) {
  const counted = join(await temporaryFolder(), 'counted');
  const counting = {
    command: process.execPath,
    args: [join(SERVERS, 'key-counting-server.mjs'), counted, 'add'],
    permissions: { readPermission: 'ask' },
  };
  const apiKey = (name: string, role: string) => ({
    ...{ name, roles: [role] },
    sha256: createHash('sha256').update(`hk_${name}`).digest('hex'),
  });
  const gateway = await gatewayUnderTest({
    config: {
      mcpServers: { counting },
      mode: 'strict',
      approvals,
      gateway: { apiKeys: [{ ...apiKey('agent', 'user'), person: true }, apiKey('ops', 'approver')] },
    },
  });
  const { heddle } = gateway;
  const pending = () => heddle.approvals.list(OPS);
  async function decideAll(verdict: 'approve' | 'reject'): Promise<readonly Approval[]> {
    await until('there is an approval', async () => (await pending()).length > 0);
    const all = await pending();
    for (const { id } of all) await heddle.approvals.decide(OPS, id, { verdict, note: 'not today' });
    return all;
  }
  const counts = () => (existsSync(counted) ? readFileSync(counted, 'utf8').trim().split('\n') : []);
  return { gateway, counts, decideAll, pending };
}

function modernRequest(
  method: string,
  params: JsonObject,
  capabilities: JsonObject,
): [JsonObject, Record<string, string>] {
  const [message, headers] = modern(method, params);
  const sent = message.params as { _meta: JsonObject };
  const _meta = { ...sent._meta, 'io.modelcontextprotocol/clientCapabilities': capabilities };
  const name = String(params.uri ?? params.name);
  return [
    { ...message, params: { ...sent, _meta } },
    { ...headers, ...AGENT, 'mcp-name': name },
  ];
}

const READS = [
  { what: 'a resource', method: 'resources/read', params: { uri: 'count://a' }, count: 'read a', field: 'contents' },
  {
    what: 'a prompt',
    method: 'prompts/get',
    params: { name: 'mcp__counting__count', arguments: { key: 'a' } },
    count: 'prompt a',
    field: 'messages',
  },
];

describe.each(READS)('$what that needs an approval', ({ method, params, count, field }) => {
  verifies('P1', 'is read once after the form was accepted', async () => {
    const { gateway, counts } = await open();
    const { json } = await gateway.post(...modernRequest(method, params, FORMS));
    const { inputRequests, requestState } = json.result as { inputRequests: JsonObject; requestState: string };
    const [key = ''] = Object.keys(inputRequests);
    const accept = { [key]: { action: 'accept', content: { approve: true } } };
    const early = await gateway.post(...modernRequest(method, { ...params, inputResponses: accept }, FORMS));
    expect(early.json.result).toMatchObject({ resultType: 'input_required' }); // A response counts with its state only.
    expect(counts()).toEqual([]);
    const back = { ...params, inputResponses: accept, requestState };
    const last = await gateway.post(...modernRequest(method, back, FORMS));
    expect(last.json.result).toHaveProperty(field);
    const replayed = await gateway.post(...modernRequest(method, back, FORMS));
    expect(replayed.json).not.toHaveProperty(`result.${field}`);
    expect(counts()).toEqual([count]);
  });

  verifies('P1', 'waits for an approver in both eras, and is an error if it is rejected', async () => {
    const { gateway, counts, decideAll } = await open();
    const waiting = gateway.post(...modernRequest(method, params, {}));
    await decideAll('approve');
    expect((await waiting).json.result).toHaveProperty(field);
    const session = await openSession({ post: (message, headers) => gateway.post(message, { ...headers, ...AGENT }) });
    const rejected = gateway.post({ id: 3, method, params }, { ...session, ...AGENT });
    await decideAll('reject');
    expect((await rejected).json.error).toMatchObject({ data: { code: 'APPROVAL_REJECTED' } });
    expect(counts()).toEqual([count]);
  });

  verifies('P1', 'is an error with the approval when no approver decides in time', async () => {
    const { gateway, counts, pending } = await open({ keepOpenMs: 0 });
    const { json } = await gateway.post(...modernRequest(method, params, {}));
    const [approval] = await pending();
    expect(json.error).toMatchObject({ data: { code: 'APPROVAL_PENDING', approval: approval?.id } });
    expect(counts()).toEqual([]);
  });
});

verifies('P1', 'a subscription needs one approval, and its wait is no update', async () => {
  const { gateway, counts, decideAll, pending } = await open();
  const session = await openSession({ post: (message, headers) => gateway.post(message, { ...headers, ...AGENT }) });
  const params = { uri: 'count://a', _meta: { progressToken: 'p' } };
  const subscribed = gateway.post({ id: 3, method: 'resources/subscribe', params }, { ...session, ...AGENT });
  const approvals = await decideAll('approve');
  const { json, text } = await subscribed;
  expect(json).toMatchObject({ id: 3, result: {} });
  expect(text).not.toContain('resources/updated');
  expect([approvals.length, await pending()]).toEqual([1, []]);
  expect(counts()).toEqual(['subscribe a']);
});

verifies('P1', 'a completion opens no approval', async () => {
  const { gateway, counts, pending } = await open();
  const params = { ref: { type: 'ref/prompt', name: 'mcp__counting__count' }, argument: { name: 'key', value: 'a' } };
  const { json } = await gateway.post({ id: 3, method: 'completion/complete', params }, AGENT);
  expect(json.error).toBeDefined();
  expect([await pending(), counts()]).toEqual([[], []]);
});
