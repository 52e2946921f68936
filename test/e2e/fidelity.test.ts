import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, vi } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { canonicalJson, isObject } from '../../src/core/json.ts';
import { type GatewayUnderTest, gatewayUnderTest, modern, openSession } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { type Era, MIRROR_URI, mirrorServer, type Script, toText } from '../servers/mirror-server.ts';
import { SERVERS } from './heddle-command.ts';
import { json, log, progress, RESULTS, vendorMeta } from './random-results.ts';

type Carrier = 'stdio' | 'HTTP';
type Method = keyof typeof RESULTS;

const numRuns = process.env.HEDDLE_TEST_SCALE === 'full' ? 300 : 20;
/** Longest time to shrink a counterexample. */
const RUNS = { numRuns, interruptAfterTimeLimit: 60_000 };
vi.setConfig({ testTimeout: 200_000 });
const RESERVED = 'io.modelcontextprotocol/';
const CELLS = (['legacy', 'modern'] as const).flatMap((client) =>
  (['legacy', 'modern'] as const).flatMap((era) =>
    (['stdio', 'HTTP'] as const).map((carrier) => ({ client, era, carrier })),
  ),
);

async function entryOf(era: Era, carrier: Carrier): Promise<JsonObject> {
  if (carrier === 'stdio') return { command: process.execPath, args: [join(SERVERS, 'mirror-server.ts'), era] };
  const server = await mirrorServer(era);
  onTestFinished(() => server.close());
  return { type: 'http', url: server.url };
}

/** Sends one request as a client of this era and resolves with all messages, the response last. */
type Send = (method: string, params: JsonObject) => Promise<readonly JsonObject[]>;

async function clientOf(era: Era, gateway: GatewayUnderTest): Promise<Send> {
  const session = era === 'legacy' ? await openSession(gateway) : {};
  if (era === 'legacy') await gateway.post({ id: 1, method: 'logging/setLevel', params: { level: 'debug' } }, session);
  return async (method, { _meta = {}, ...params }) => {
    const sentMeta = { ...(_meta as JsonObject), ...(era === 'modern' && { [`${RESERVED}logLevel`]: 'debug' }) };
    const [message, headers] = modern(method, { ...params, _meta: sentMeta });
    const named = typeof params.uri === 'string' ? { 'mcp-name': params.uri } : {};
    const { text } = await (era === 'modern'
      ? gateway.post(message, { ...headers, ...named })
      : gateway.post({ id: 2, method, params: { ...params, _meta: sentMeta } }, session));
    const events = text.split('\n').filter((line) => line.startsWith('data: {'));
    return (events.length > 0 ? events.map((line) => line.slice('data: '.length)) : [text]).map((one) =>
      JSON.parse(one),
    );
  };
}

const meeting = async (client: Era, era: Era, carrier: Carrier) =>
  clientOf(
    client,
    await gatewayUnderTest({
      servers: { up: await entryOf(era, carrier) },
      config: { permissions: { allow: ['mcp__up'] } }, // Random results may look sensitive.
    }),
  );

/** Makes the server return this for a request of this method. */
async function respondWith(send: Send, method: Method, script: Script): Promise<readonly JsonObject[]> {
  const given = { arguments: { script: toText(script) }, _meta: { progressToken: 'mine' } };
  if (method !== 'resources/read') return send(method, { name: 'mcp__up__send', ...given });
  await send('tools/call', { name: 'mcp__up__store', ...given }); // The script is too long for a URI.
  return send(method, { uri: `${MIRROR_URI}stored` });
}

/** Removes the reserved `_meta` keys. */
function unreserved({ _meta, ...rest }: JsonObject): JsonObject {
  if (!isObject(_meta)) return { ...rest, ...(_meta !== undefined && { _meta }) };
  const kept = Object.entries(_meta).filter(([key]) => !key.startsWith(RESERVED));
  return kept.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(kept) };
}

/** Result fields that only 2026-07-28 has. */
const MODERN_FIELDS: readonly string[] = ['resultType', 'ttlMs', 'cacheScope'];
const withoutEra = (result: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(unreserved(result)).filter(([key]) => !MODERN_FIELDS.includes(key)));

/** Serializes a value independently of the order of keys. */
const read = (value: JsonObject): string => canonicalJson(JSON.parse(JSON.stringify(value)));

/** Requests that are answered with the received parameters, by method. */
const echoRequests = (input: JsonObject): Readonly<Record<string, JsonObject>> => ({
  'tools/call': { name: 'mcp__up__echo', arguments: input },
  'prompts/get': { name: 'mcp__up__echo', arguments: { script: JSON.stringify(input) } },
  'resources/read': { uri: `${MIRROR_URI}hear` },
});
/** Removes empty `arguments` and `_meta`, which mean the same as none. */
const withoutEmpty = (params: JsonObject): JsonObject => {
  const { arguments: input, ...rest } = unreserved(params);
  return isObject(input) && Object.keys(input).length > 0 ? { ...rest, arguments: input } : rest;
};
const anything = fc.dictionary(fc.string(), json, { maxKeys: 4, noNullPrototype: true });
/** Keeps only parameters that no protocol version defines. */
const KNOWN = ['name', 'uri', 'arguments', '_meta', 'task', 'inputResponses', 'requestState', 'taskId'];
const beside = fc.dictionary(
  fc.string().filter((key) => !KNOWN.includes(key)),
  json,
  { maxKeys: 3, noNullPrototype: true },
);
/** Values that clients may send. `__proto__` is refused, because it would change copied objects. */
const acceptable = (some: fc.Arbitrary<JsonObject>) =>
  some.filter((value) => !JSON.stringify(value).includes('"__proto__"'));

async function passesResults(send: Send, client: Era): Promise<void> {
  for (const method of Object.keys(RESULTS) as Method[]) {
    await fc.assert(
      fc.asyncProperty(RESULTS[method], async (result) => {
        const [answer] = await respondWith(send, method, { before: [], result });
        const got = answer?.result as JsonObject;
        expect(got).toBeDefined();
        expect(read(withoutEra(got))).toBe(read(unreserved(result)));
        expect(Object.keys(got._meta ?? {}).filter((key) => key.startsWith(RESERVED))).toEqual([]);
        const added = MODERN_FIELDS.filter((key) => key in got);
        expect(added.length > 0).toBe(client === 'modern');
      }),
      RUNS,
    );
  }
}

async function passesNotifications(send: Send): Promise<void> {
  const notice = fc.oneof(
    progress.map((params) => ({ method: 'notifications/progress', params })),
    log.map((params) => ({ method: 'notifications/message', params })),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(notice, { minLength: 1, maxLength: 5 }), async (before) => {
      const heard = await respondWith(send, 'tools/call', { before, result: { content: [] } });
      const expected = before.map(({ method, params }) =>
        method === 'notifications/progress'
          ? { method, params: { ...params, progressToken: 'mine' } }
          : { method, params },
      );
      const got = heard.slice(0, -1).map(({ method, params }) => ({ method, params: params as JsonObject }));
      expect(got.map(read)).toEqual(expected.map(read));
      expect(heard.at(-1)?.result).toMatchObject({ content: [] });
    }),
    RUNS,
  );
}

async function passesParameters(send: Send): Promise<void> {
  await fc.assert(
    fc.asyncProperty(acceptable(anything), acceptable(vendorMeta), acceptable(beside), async (input, _meta, more) => {
      for (const [method, own] of Object.entries(echoRequests(input))) {
        const said = { ...more, ...own, _meta };
        const [answer] = await send(method, said);
        const { received } = (answer?.result ?? {}) as { received: JsonObject };
        const expected = 'name' in own ? { ...said, name: 'echo' } : said;
        expect(read(withoutEmpty(received))).toBe(read(withoutEmpty(expected)));
      }
    }),
    RUNS,
  );
}

// One gateway for all of them: a server over stdio is a process.
describe.each(CELLS)('from a $era server over $carrier to a $client client', ({ client, era, carrier }) => {
  verifies(
    'P1',
    'passes results, notifications and parameters unchanged, in order, unknown ones included',
    async () => {
      const send = await meeting(client, era, carrier);
      await passesResults(send, client);
      await passesNotifications(send);
      await passesParameters(send);
    },
  );
});
