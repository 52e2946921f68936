import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { ClientCapabilities, JsonObject, ResolvedCall } from '../../core/call.ts';
import { talk } from '../../wire/fixtures.ts';
import type { SendOptions } from '../../wire/transport.ts';
import { openServerRequests } from '../elicitation/server-requests.ts';
import { suspendedCalls } from '../elicitation/suspended-calls.ts';
import { toolCall } from '../fixtures.ts';
import { modernCalls } from './call-modern.ts';

const ALL: ClientCapabilities = { form: true, url: true, sampling: true, samplingTools: false, roots: false };
const FORM = {
  method: 'elicitation/create',
  params: { message: 'Who?', requestedSchema: { type: 'object', properties: {} } },
};
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

/** A modern server that returns these results or error codes, one after the other. */
async function modern(answers: readonly (JsonObject | number)[], roots: readonly string[] = []) {
  const sent: JsonObject[] = [];
  const headers: unknown[] = [];
  const send = async (message: JsonObject, options?: SendOptions) => {
    const answer = answers[sent.length] ?? {};
    sent.push(message.params as JsonObject);
    headers.push(options?.headers);
    const outcome = typeof answer === 'number' ? { error: { code: answer, message: 'no' } } : { result: answer };
    receive({ jsonrpc: '2.0', id: message.id, ...outcome });
  };
  const { peer, receive } = await talk({}, { hasPerRequestStream: true, send });
  peer.speakModern({ [CAPABILITIES]: {} });
  const serverRequests = openServerRequests({
    suspendedCalls: suspendedCalls(),
    roots: () => roots,
    sampling: () => ({ maxCalls: 1, windowMs: 1000, maxTokens: 50 }),
  });
  let listed = 0;
  const listTools = async () => {
    listed++;
    return [
      { name: 'x', inputSchema: { type: 'object', properties: { to: { type: 'string', 'x-mcp-header': 'To' } } } },
    ];
  };
  const calls = modernCalls({ peer, server: 'demo', capabilities: ALL, serverRequests, listTools });
  return { send: calls.send, sent, headers, listed: () => listed };
}

const inputRequired = (inputRequests: JsonObject | undefined, requestState?: unknown) =>
  ({ resultType: 'input_required', inputRequests, requestState }) as JsonObject;
const call = (more: Partial<ResolvedCall> = {}) => toolCall('x', { to: 'Ann' }, { capabilities: ALL, ...more });

verifies(
  'T10',
  'passes input requests on with their keys, and returns the responses with the requestState',
  async () => {
    const { send, sent } = await modern([inputRequired({ user_name: FORM }, 'state'), { content: [] }]);
    const required = await send(call());
    const continuation = { kind: 'upstream', server: 'demo', state: 'state' } as const;
    expect(required).toEqual({ kind: 'input-required', inputRequests: { user_name: FORM }, continuation });
    const inputResponses = { user_name: { action: 'accept', content: {} } };
    expect(await send(call({ continuation, inputResponses }))).toMatchObject({ kind: 'complete' });
    const [first, second] = sent.map(({ _meta, ...params }) => params);
    expect(first).toEqual({ name: 'x', arguments: { to: 'Ann' } });
    expect(second).toEqual({ ...first, inputResponses, requestState: 'state' });
    expect(sent[0]?._meta).toMatchObject({ [CAPABILITIES]: { elicitation: { form: {}, url: {} }, sampling: {} } });
  },
);

verifies('T10', 'passes on responses without a state, and a state without input requests', async () => {
  const { send, sent } = await modern([{ content: [] }, inputRequired(undefined, 'later')]);
  await send(call({ inputResponses: { a: { action: 'decline' } } }));
  expect(sent[0]).toMatchObject({ inputResponses: { a: { action: 'decline' } } });
  expect(sent[0]).not.toHaveProperty('requestState');
  expect(await send(call())).toMatchObject({ inputRequests: {}, continuation: { state: 'later' } });
});

it.each<[string, JsonObject]>([
  ['neither input request nor state', inputRequired(undefined)],
  ['no input requests and no state', inputRequired({})],
  ['a state that is no text', inputRequired({ a: FORM }, 12)],
  ['a state of more than 32 kB', inputRequired({ a: FORM }, 'x'.repeat(32_769))],
  ['an input request with another method', inputRequired({ a: { method: 'tools/call' } })],
  ['inputRequests that are no object', inputRequired([] as unknown as JsonObject)],
  ['an input request without the capability', inputRequired({ a: { method: 'roots/list' } })],
])('T10: rejects %s', async (_, answer) => {
  const { send } = await modern([answer]);
  await expect(send(call())).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'maybe' });
});

verifies('T10', 'ends the call with an error result when an input request is rejected or fails', async () => {
  const sampling = inputRequired({ a: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 7 } } });
  const { send, sent } = await modern([sampling, sampling]);
  expect(await send(call())).toMatchObject({ inputRequests: { a: { params: { maxTokens: 7 } } } });
  expect(await send(call())).toMatchObject({ kind: 'complete', isError: true });
  const failed = { failed: { code: -32000, message: 'No window.' } };
  const result = await send(call({ inputResponses: { a: failed } }));
  expect([JSON.stringify(result).includes('No window.'), sent.length]).toEqual([true, 2]);
});

verifies('T10', 'answers roots/list with the configured roots, and returns the other input requests', async () => {
  const roots = { r: { method: 'roots/list' } };
  const { send, sent } = await modern([inputRequired(roots, 's'), inputRequired({ ...roots, a: FORM })], ['/srv']);
  expect(await send(call())).toMatchObject({ inputRequests: { a: FORM } });
  const inputResponses = { r: { roots: [{ uri: 'file:///srv', name: 'srv' }] } };
  expect(sent[1]).toMatchObject({ inputResponses, requestState: 's', _meta: { [CAPABILITIES]: { roots: {} } } });
  const endless = await modern(
    Array.from({ length: 20 }, () => inputRequired(roots)),
    ['/srv'],
  );
  await expect(endless.send(call())).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
});

verifies('T11', 'lists the tools and sends again after a header mismatch', async () => {
  const { send, headers, listed } = await modern([-32020, { content: [] }]);
  expect(await send(call())).toMatchObject({ kind: 'complete' });
  expect([headers[0], listed()]).toEqual([{}, 1]);
  expect(Object.entries(headers[1] as object).map(([name, value]) => [name.toLowerCase(), value])).toEqual([
    ['mcp-param-to', 'Ann'],
  ]);
  const refusing = await modern([-32020, -32020]);
  await expect(refusing.send(call())).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED' });
});

verifies('R6', 'sends a prompt without parameter headers, also if a tool has its name', async () => {
  const { send, headers, listed } = await modern([-32020]);
  await expect(send(call({ kind: 'prompt' }))).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED' });
  expect(listed()).toBe(0);
  expect(headers).toEqual([undefined]);
});
