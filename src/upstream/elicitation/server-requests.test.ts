import { expect, it } from 'vitest';
import { NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { ClientCapabilities, JsonObject } from '../../core/call.ts';
import type { RpcError } from '../../wire/json-rpc.ts';
import type { Peer } from '../../wire/peer.ts';
import { tinyServer, toolCall } from '../fixtures.ts';
import { connectInMemory } from '../transports/connect-in-memory.ts';

const FORM = { message: 'Which?', requestedSchema: { type: 'object', properties: {} } };
const ALL: ClientCapabilities = { form: true, url: true, sampling: true, samplingTools: true, roots: true };

/** A connection to a legacy server that sends a request during each call and returns the error it got. */
async function connected(capabilities: ClientCapabilities, method: string, params: JsonObject) {
  const request = () => (tiny.transports[0] as Peer).request(method, params, { deadlineMs: 120_000 });
  const tiny = tinyServer({
    'tools/call': () => request().catch(({ code, message }: RpcError) => ({ code, message })),
  });
  const { signal } = new AbortController();
  return connectInMemory(tiny.serve)({
    server: 'demo',
    signal,
    known: 'legacy',
    capabilities,
    onNotification: () => {},
  });
}

it.each([
  ['elicitation by form', 'elicitation/create', FORM, 'onElicitation'],
  [
    'elicitation by URL',
    'elicitation/create',
    { mode: 'url', message: 'Here.', url: 'https://example.com/' },
    'onElicitation',
  ],
  ['sampling', 'sampling/createMessage', { messages: [] }, 'onSampling'],
  ['sampling with tools', 'sampling/createMessage', { messages: [], tools: [] }, undefined],
  ['roots', 'roots/list', {}, 'onRoots'],
])(
  'tells the server that the client does not support %s, on every connection',
  async (what, method, params, callback) => {
    const how = callback === undefined ? '' : ` A program gives \`${callback}\` to openHeddle.`;
    const refusal = {
      code: -32601,
      message: `The user cannot be asked: their client does not support ${what}. Use a client that does.${how}`,
    };
    const nearly = { ...NO_CAPABILITIES, sampling: what === 'sampling with tools' };
    for (const [declared, capabilities] of [
      [ALL, nearly],
      [NO_CAPABILITIES, NO_CAPABILITIES],
    ] as const) {
      const connection = await connected(declared, method, params);
      expect(await connection.send(toolCall('x', {}, { capabilities }))).toMatchObject({ value: refusal });
    }
  },
);
