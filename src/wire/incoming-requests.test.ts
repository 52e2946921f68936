import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { JsonObject } from '../core/call.ts';
import { parseJson } from '../core/json.ts';
import { talk } from './fixtures.ts';
import type { IncomingRequest } from './incoming-requests.ts';
import { RpcError } from './json-rpc.ts';

const turn = () => new Promise(setImmediate);
const request = (id: unknown, method: string, params?: JsonObject) => ({ jsonrpc: '2.0', id, method, params });

it('answers what the server asks, and keeps quiet once that was cancelled', async () => {
  const answer = (_method: string, params: JsonObject, { signal }: IncomingRequest) =>
    params.slow
      ? new Promise<JsonObject>((resolve) => signal.addEventListener('abort', () => resolve({})))
      : Promise.resolve({ roots: [] });
  const { sent, receive } = await talk({ answer });
  receive(request('r1', 'roots/list'));
  receive(request('r2', 'ping'));
  receive(request('r3', 'sampling/createMessage', { slow: true }));
  receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'r3' } });
  await turn();
  expect(sent.map(({ id, result }) => [id, result])).toEqual([
    ['r2', {}],
    ['r1', { roots: [] }],
  ]);
});

it('refuses an id that is still in use, takes it again afterwards, and keeps 1 and "1" apart', async () => {
  const first = Promise.withResolvers<JsonObject>();
  const answers = [first.promise, Promise.resolve({ text: true }), Promise.resolve({ again: true })];
  const { sent, receive } = await talk({ answer: () => answers.shift() as Promise<JsonObject> });
  receive(request(1, 'roots/list'));
  receive(request(1, 'roots/list'));
  receive(request('1', 'roots/list'));
  await turn();
  first.resolve({ first: true });
  await turn();
  receive(request(1, 'roots/list'));
  await turn();
  expect(sent).toMatchObject([
    { id: 1, error: { code: -32600, message: 'The id 1 is still in use.' } },
    { id: '1', result: { text: true } },
    { id: 1, result: { first: true } },
    { id: 1, result: { again: true } },
  ]);
});

verifies('T4', 'answers a request with an id over 2^53 under exactly that id, and takes its cancellation', async () => {
  const answer = (_method: string, params: JsonObject, { signal }: IncomingRequest) =>
    new Promise<JsonObject>((resolve) => {
      if (params.slow) signal.addEventListener('abort', () => resolve({}));
      else resolve({ roots: [] });
    });
  const { peer, sent, receive } = await talk({ answer });
  const hear = (text: string) => receive(parseJson(text, { numbers: 'exact' }));
  hear('{"jsonrpc":"2.0","id":9007199254740993,"method":"roots/list","params":{"slow":true}}');
  hear('{"jsonrpc":"2.0","id":9007199254740993,"method":"roots/list"}');
  hear('{"jsonrpc":"2.0","id":"9007199254740993","method":"roots/list"}');
  hear('{"jsonrpc":"2.0","id":9007199254740995,"method":"roots/list"}');
  hear('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9007199254740993}}');
  await turn();
  expect(sent.map((message) => JSON.stringify(message))).toEqual([
    expect.stringMatching(/"id":9007199254740993,"error".*The id 9007199254740993 is still in use/),
    '{"jsonrpc":"2.0","id":"9007199254740993","result":{"roots":[]}}',
    '{"jsonrpc":"2.0","id":9007199254740995,"result":{"roots":[]}}',
  ]);
  expect(peer.dropped.malformed).toBe(0);
});

it('refuses with the words of an RpcError, and hides any other mistake', async () => {
  const troubles: Error[] = [];
  const answer = async (method: string) => {
    if (method === 'refused') throw new RpcError(-32602, 'No.', { why: 1 });
    throw new Error('the password is hunter2');
  };
  const { sent, receive } = await talk({ answer, trouble: (error) => troubles.push(error) });
  receive(request(1, 'refused'));
  receive(request(2, 'broken'));
  await turn();
  expect(sent[0]).toEqual({ jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'No.', data: { why: 1 } } });
  expect(sent[1]).toMatchObject({ id: 2, error: { code: -32603 } });
  expect(JSON.stringify(sent)).not.toContain('hunter2');
  expect(troubles).toMatchObject([{ message: 'the password is hunter2' }]);
});

it('answers only ping without an `answer` option', async () => {
  const { sent, receive } = await talk();
  receive(request(1, 'sampling/createMessage'));
  await turn();
  expect(sent).toMatchObject([{ id: 1, error: { code: -32601 } }]);
});

it('ends what it is answering when the line drops', async () => {
  const asked = Promise.withResolvers<IncomingRequest>();
  const answer = (_method: string, _params: JsonObject, one: IncomingRequest) => {
    asked.resolve(one);
    return new Promise<JsonObject>(() => {});
  };
  const { peer, receive } = await talk({ answer });
  receive(request(1, 'roots/list'));
  const { signal } = await asked.promise;
  await peer.close();
  expect(signal.aborted).toBe(true);
});

it('hands on every notification, and on whose stream it came', async () => {
  const heard: unknown[] = [];
  const { transport } = await talk({ onNotification: (...all) => heard.push(all) });
  transport.onmessage?.(
    { jsonrpc: '2.0', method: 'notifications/message', params: { data: 1 } },
    { relatedRequestId: 4 },
  );
  transport.onmessage?.({ jsonrpc: '2.0', method: 'x-vendor/thing' });
  expect(heard).toEqual([
    ['notifications/message', { data: 1 }, 4],
    ['x-vendor/thing', {}, undefined],
  ]);
});
