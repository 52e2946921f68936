import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { ClientCapabilities, JsonObject, ResolvedCall } from '../../core/call.ts';
import { talk } from '../../wire/fixtures.ts';
import type { SendOptions } from '../../wire/json-rpc.ts';
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

/** A modern server that gives these answers, one after the other: results, or errors by their code. */
async function modern(answers: readonly (JsonObject | number)[], roots: readonly string[] = []) {
  const sent: JsonObject[] = [];
  const headers: unknown[] = [];
  const send = async (message: JsonObject, options?: SendOptions) => {
    const answer = answers[sent.length] ?? {};
    sent.push(message.params as JsonObject);
    headers.push(options?.headers);
    const outcome = typeof answer === 'number' ? { error: { code: answer, message: 'no' } } : { result: answer };
    say({ jsonrpc: '2.0', id: message.id, ...outcome });
  };
  const { peer, say } = await talk({}, { hasPerRequestStream: true, send });
  peer.speakModern({ [CAPABILITIES]: {} });
  const questions = openServerRequests({
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
  const calls = modernCalls({ peer, server: 'demo', capabilities: ALL, serverRequests: questions, listTools });
  return { send: calls.send, sent, headers, listed: () => listed };
}

const asking = (inputRequests: JsonObject | undefined, requestState?: unknown) =>
  ({ resultType: 'input_required', inputRequests, requestState }) as JsonObject;
const call = (more: Partial<ResolvedCall> = {}) => toolCall('x', { to: 'Ann' }, { capabilities: ALL, ...more });

verifies('T10', 'what a modern server asks keeps its keys and its state, and goes back with the answers', async () => {
  const { send, sent } = await modern([asking({ user_name: FORM }, 'state'), { content: [] }]);
  const asked = await send(call());
  const next = { kind: 'upstream', server: 'demo', state: 'state' } as const;
  expect(asked).toEqual({ kind: 'input-required', questions: { user_name: FORM }, next });
  const answers = { user_name: { action: 'accept', content: {} } };
  expect(await send(call({ continuation: next, inputResponses: answers }))).toMatchObject({ kind: 'complete' });
  const [first, second] = sent.map(({ _meta, ...params }) => params);
  expect(first).toEqual({ name: 'x', arguments: { to: 'Ann' } });
  expect(second).toEqual({ ...first, inputResponses: answers, requestState: 'state' });
  expect(sent[0]?._meta).toMatchObject({ [CAPABILITIES]: { elicitation: { form: {}, url: {} }, sampling: {} } });
});

verifies('T10', 'answers without a state are passed on, and a state without questions is, too', async () => {
  const { send, sent } = await modern([{ content: [] }, asking(undefined, 'later')]);
  await send(call({ inputResponses: { a: { action: 'decline' } } }));
  expect(sent[0]).toMatchObject({ inputResponses: { a: { action: 'decline' } } });
  expect(sent[0]).not.toHaveProperty('requestState');
  expect(await send(call())).toMatchObject({ questions: {}, next: { state: 'later' } });
});

it.each<[string, JsonObject]>([
  ['neither question nor state', asking(undefined)],
  ['an empty list and no state', asking({})],
  ['a state that is no text', asking({ a: FORM }, 12)],
  ['a state of more than 32 kB', asking({ a: FORM }, 'x'.repeat(32_769))],
  ['a question that is none', asking({ a: { method: 'tools/call' } })],
  ['questions that are no list', asking([] as unknown as JsonObject)],
  ['something the user cannot be asked', asking({ a: { method: 'roots/list' } })],
])('T10: refuses %s', async (_, answer) => {
  const { send } = await modern([answer]);
  await expect(send(call())).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'maybe' });
});

verifies('T10', 'what may not be put, and what could not be, ends the call in words', async () => {
  const sampling = asking({ a: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 7 } } });
  const { send, sent } = await modern([sampling, sampling]);
  expect(await send(call())).toMatchObject({ questions: { a: { params: { maxTokens: 7 } } } });
  expect(await send(call())).toMatchObject({ kind: 'complete', isError: true });
  const failed = { failed: { code: -32000, message: 'No window.' } };
  const told = await send(call({ inputResponses: { a: failed } }));
  expect([JSON.stringify(told).includes('No window.'), sent.length]).toEqual([true, 2]);
});

verifies('T10', 'configured roots are told without asking anybody, and other questions are asked alone', async () => {
  const roots = { r: { method: 'roots/list' } };
  const { send, sent } = await modern([asking(roots, 's'), asking({ ...roots, a: FORM })], ['/srv']);
  expect(await send(call())).toMatchObject({ questions: { a: FORM } });
  const inputResponses = { r: { roots: [{ uri: 'file:///srv', name: 'srv' }] } };
  expect(sent[1]).toMatchObject({ inputResponses, requestState: 's', _meta: { [CAPABILITIES]: { roots: {} } } });
  const endless = await modern(
    Array.from({ length: 20 }, () => asking(roots)),
    ['/srv'],
  );
  await expect(endless.send(call())).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
});

verifies('T11', 'a server that misses a header is asked again with those of its description of today', async () => {
  const { send, headers, listed } = await modern([-32020, { content: [] }]);
  expect(await send(call())).toMatchObject({ kind: 'complete' });
  expect([headers[0], listed()]).toEqual([{}, 1]);
  expect(Object.entries(headers[1] as object).map(([name, value]) => [name.toLowerCase(), value])).toEqual([
    ['mcp-param-to', 'Ann'],
  ]);
  const stubborn = await modern([-32020, -32020]);
  await expect(stubborn.send(call())).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED' });
});

verifies('R6', 'a prompt has no headers of a tool, and does not become one by its name', async () => {
  const { send, headers, listed } = await modern([-32020]);
  await expect(send(call({ kind: 'prompt' }))).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED' });
  expect(listed()).toBe(0);
  expect(headers).toEqual([undefined]);
});
