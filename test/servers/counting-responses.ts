// The responses of a server with tools, prompts and a template, each `allowed`, `denied`, `asked`, `failing` and `barred`, and
// with the methods `count/<any>` of an extension, which return their params.
import type { JsonObject } from '../../src/core/call.ts';
import type { Era } from '../../src/wire/mcp.ts';

export interface CountingOptions {
  readonly era: Era;
  /** Receives a line for every request that acts: its kind and its name or URI. */
  readonly count: (line: string) => void;
}

/** Handles one message. A modern subscription sends its acknowledgement, and no response. */
export type Respond = (message: JsonObject, send: (message: JsonObject) => void) => void;

const NAMES = ['allowed', 'denied', 'asked', 'failing', 'barred'];
/** The input schema of each tool. */
const SCHEMA = JSON.parse(process.env.INPUT_SCHEMA ?? '{"type":"object"}') as JsonObject;
const CAPABILITIES =
  process.env.ONLY_TOOLS === '1'
    ? { tools: {} }
    : { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {} };
const TAG = 'io.modelcontextprotocol/subscriptionId';
const COMPLETE = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };

const LISTS: Readonly<Record<string, JsonObject>> = {
  'tools/list': { tools: NAMES.map((name) => ({ name, inputSchema: SCHEMA })) },
  'resources/list': { resources: [] },
  'resources/templates/list': {
    resourceTemplates: [{ uriTemplate: 'count://{outcome}/{path}', name: 'count' }],
  },
  'prompts/list': { prompts: NAMES.map((name) => ({ name, arguments: [{ name: 'word' }] })) },
  ping: {},
  'resources/unsubscribe': {},
};

/** Returns the responses of a server of one era. It counts every request that acts, and then fails if its name says so. */
export function countingResponses({ era, count }: CountingOptions): Respond {
  const listened = new Set<string>();

  function acted(kind: string, name: unknown, result: JsonObject): JsonObject {
    count(`${kind} ${name}`);
    if (String(name).includes('failing')) throw new Error('It fails.');
    return result;
  }

  /** Counts the URIs that are new: each request of a connection repeats those of the one before. */
  function listen(notifications: JsonObject): void {
    const uris = (notifications.resourceSubscriptions ?? []) as readonly string[];
    for (const uri of uris.filter((one) => !listened.has(one))) {
      acted('subscription', uri, {});
      listened.add(uri);
    }
  }

  const acts: Readonly<Record<string, (params: JsonObject) => JsonObject>> = {
    'tools/call': ({ name }) => acted('tool', name, { content: [text('counted')] }),
    'resources/read': ({ uri = '' }) => acted('resource', uri, { contents: [{ uri, text: 'counted' }] }),
    'prompts/get': ({ name }) => acted('prompt', name, { messages: [{ role: 'user', content: text('counted') }] }),
    'completion/complete': ({ ref }) =>
      acted('completion', (ref as JsonObject).name, { completion: { values: ['counted'] } }),
    ...(era === 'modern'
      ? { 'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities: CAPABILITIES }) }
      : {
          initialize: ({ protocolVersion = '' }) => ({ protocolVersion, capabilities: CAPABILITIES, serverInfo: ME }),
          'resources/subscribe': ({ uri }) => acted('subscription', uri, {}),
        }),
  };

  return function respond({ id, method, params = {} }, send) {
    if (id === undefined) return;
    const answer = (content: JsonObject) => send({ jsonrpc: '2.0', id, ...content });
    try {
      if (method === 'subscriptions/listen' && era === 'modern') {
        const { notifications = {} } = params as JsonObject;
        listen(notifications as JsonObject);
        const acknowledged = { notifications, _meta: { [TAG]: id } };
        return send({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: acknowledged });
      }
      const isOfExtension = String(method).startsWith('count/');
      const result = isOfExtension
        ? acted('extension', method, { echo: params as JsonObject })
        : (LISTS[String(method)] ?? acts[String(method)]?.(params as JsonObject));
      if (!result) return answer({ error: { code: -32601, message: 'unknown' } });
      answer({ result: era === 'modern' ? { ...COMPLETE, ...result } : result });
    } catch (thrown) {
      answer({ error: { code: -32000, message: (thrown as Error).message, data: { of: String(method) } } });
    }
  };
}

const ME = { name: 'counting', version: '1' };
const text = (value: string) => ({ type: 'text', text: value });
