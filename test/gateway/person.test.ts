import { describe, expect } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { type GatewayUnderTest, gatewayUnderTest, modern, OWNER, TOKEN } from '../../src/gateway/fixtures.ts';
import { META } from '../../src/wire/mcp.ts';
import { verifies } from '../requirements.ts';
import { signedToken } from '../servers/issuer.ts';
import { recordingServer, text } from '../servers/recording-server.ts';
import { tokenGateway } from '../servers/token-gateway.ts';

const ASKS = { mode: 'strict', approvals: { keepOpenMs: 0 } };
const YES = { 'heddle-approval': { action: 'accept', content: { approve: true } } };

async function strictGateway() {
  const up = recordingServer({ echo: () => text('here') });
  const gateway = await gatewayUnderTest({ servers: { up }, config: ASKS });
  return { up, gateway, access: gateway.heddle.access };
}

/** Calls the tool as a modern client with forms. */
async function call({ post }: GatewayUnderTest, credential: string, more: JsonObject = {}): Promise<JsonObject> {
  const [message, headers] = modern('tools/call', { name: 'mcp__up__echo', arguments: {}, ...more });
  const params = message.params as { _meta: JsonObject };
  const _meta = { ...params._meta, [META.clientCapabilities]: { elicitation: { form: {} } } };
  const sent = { ...message, params: { ...params, _meta } };
  const { json } = await post(sent, { ...headers, authorization: `Bearer ${credential}` });
  return (json.result ?? json) as JsonObject;
}

describe('a client without a person behind its credential', () => {
  verifies('G7', 'gets no form for its own call: an approver decides, and the error says how', async () => {
    const { gateway, access, up } = await strictGateway();
    const key = await access.createKey(OWNER, { name: 'agent', roles: ['user'] });
    const result = await call(gateway, key);
    expect(result).not.toHaveProperty('inputRequests');
    const message = JSON.stringify(result);
    expect(message).toMatch(/heddle approvals approve ap_\w+` in a terminal/);
    expect(message).toContain('`heddle connect` gives a host a key with a person');
    // The form's answer has no effect without the form, whatever state it is sent with.
    expect(await call(gateway, key, { inputResponses: YES, requestState: 'made-up' })).not.toHaveProperty(
      'content.0.type',
      'here',
    );
    expect(up.calls).toEqual([]);
  });

  verifies('G7', 'is also the program with the token of the owner', async () => {
    const { gateway } = await strictGateway();
    expect(await call(gateway, TOKEN)).not.toHaveProperty('inputRequests');
  });
});

describe('a key with a person', () => {
  verifies('G7', 'gets the form, and its answer runs the call', async () => {
    const { gateway, access, up } = await strictGateway();
    const key = await access.createKey(OWNER, { name: 'desk', roles: ['user'], person: true });
    const { requestState, inputRequests } = await call(gateway, key);
    expect(inputRequests).toHaveProperty('heddle-approval');
    expect(await call(gateway, key, { requestState, inputResponses: YES })).toMatchObject({
      content: [{ text: 'here' }],
    });
    expect(up.calls).toHaveLength(1);
  });

  verifies('G7', 'is looked up when the form is answered: another key of the same name has none', async () => {
    const { gateway, access, up } = await strictGateway();
    const first = await access.createKey(OWNER, { name: 'desk', roles: ['user'], person: true });
    const { requestState } = await call(gateway, first);
    await access.revokeKey(OWNER, 'desk');
    const second = await access.createKey(OWNER, { name: 'desk', roles: ['user'] });
    await call(gateway, second, { requestState, inputResponses: YES });
    expect(up.calls).toEqual([]);
  });
});

describe('a token of an authorization server', () => {
  const person = "'amr' in claims && 'pwd' in claims.amr";

  async function tokens(auth: JsonObject) {
    const { gateway, key, claims, up } = await tokenGateway({ auth, more: ASKS });
    const tokenWith = (more: JsonObject) => signedToken(key, { ...claims, ...more });
    return { up, gateway, human: tokenWith({ amr: ['pwd'] }), program: tokenWith({ client_id: 'bot' }) };
  }

  verifies('G7', 'has a person only if `gateway.auth.person` matches its claims', async () => {
    const { gateway, human, program } = await tokens({ person });
    expect(await call(gateway, program)).not.toHaveProperty('inputRequests');
    expect(await call(gateway, human)).toHaveProperty('inputRequests.heddle-approval');
    expect(await call(gateway, program)).not.toHaveProperty('inputRequests'); // The same subject, cached before.
  });

  verifies('G7', 'has none by default, nor with a condition that fails or is invalid', async () => {
    for (const auth of [{}, { person: 'claims.missing == true' }, { person: 'claims.amr' }]) {
      const { gateway, human } = await tokens(auth);
      expect(await call(gateway, human)).not.toHaveProperty('inputRequests');
    }
  });

  verifies('G7', 'without a person does not answer the form of one with a person', async () => {
    const { gateway, human, program, up } = await tokens({ person });
    const { requestState } = await call(gateway, human);
    await call(gateway, program, { requestState, inputResponses: YES });
    expect(up.calls).toEqual([]);
    await call(gateway, human, { requestState, inputResponses: YES });
    expect(up.calls).toHaveLength(1);
  });
});
