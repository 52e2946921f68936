import { expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { gatewayUnderTest, TOKEN } from '../../src/gateway/fixtures.ts';
import type { InProcessServer } from '../../src/upstream/lifecycle/programmatic-servers.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { Peer } from '../../src/wire/peer.ts';
import { INTERACTIVE_CLIENTS } from '../servers/interactive-clients.ts';
import { until } from '../until.ts';

const LIST_CHANGED = { listChanged: true };
const CAPABILITIES = { tools: LIST_CHANGED, prompts: LIST_CHANGED, resources: { ...LIST_CHANGED, subscribe: true } };

/** Creates a legacy server whose tool `grow` changes each list of the connection that calls it. */
const growingServer = (): InProcessServer => ({
  async connect(transport) {
    let calls = 0;
    const added = (...entries: readonly JsonObject[]) =>
      entries.slice(0, calls === 0 ? 1 : 2).map((entry) => ({ ...entry, description: `after ${calls} calls` }));
    const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });
    const note = (name: string) => ({ name, uri: `note://${name}` });
    const serverInfo = { name: 'growing', version: '1' };
    const answers: Record<string, () => JsonObject> = {
      initialize: () => ({ protocolVersion: '2025-06-18', capabilities: CAPABILITIES, serverInfo }),
      'tools/list': () => ({ tools: added(tool('grow'), tool('more')) }),
      'prompts/list': () => ({ prompts: added({ name: 'greet' }, { name: 'more' }) }),
      'resources/list': () => ({ resources: added(note('one'), note('more')) }),
      'resources/templates/list': () => ({ resourceTemplates: [] }),
      'resources/subscribe': () => ({}),
      'resources/unsubscribe': () => ({}),
      'tools/call'() {
        calls++;
        for (const list of ['tools', 'prompts', 'resources']) void peer.notify(`notifications/${list}/list_changed`);
        return { content: [] };
      },
    };
    const peer: Peer = new Peer(transport, {
      server: 'Heddle',
      onNotification() {},
      async answer(method) {
        const answer = answers[method];
        if (!answer) throw new RpcError(-32601, `${method} is not supported.`);
        return answer();
      },
    });
    await peer.start();
  },
});

const CLIENTS = [
  ['SDK 1.32', 'http', '/mcp/a'],
  ['SDK 2.4 with a session', 'http', '/mcp/a'],
  ['SDK 2.4 in the modern era', 'http', '/mcp/a'],
  ['SDK 1.32', 'sse', '/sse/a'],
  ['SDK 1.32', 'ws', '/mcp/a'],
  ['SDK 1.32', 'http', '/mcp'],
] as const;

it.each(CLIENTS)(
  'R7: %s over %s at %s gets the list changes of its private connection',
  async (client, transport, path) => {
    const { port } = await gatewayUnderTest({
      servers: { up: growingServer() },
      config: { profiles: { a: {} } },
    });
    const url = `http://127.0.0.1:${port}${path}`;
    const ann = await INTERACTIVE_CLIENTS[client]({ transport, url, token: TOKEN });
    onTestFinished(() => ann.close());
    await ann.subscribe('note://one');
    await Promise.all([ann.tools(), ann.prompts(), ann.resources()]);
    const before = { ...ann.received };
    await until('every list has changed', async () => {
      await ann.call('mcp__up__grow'); // Again, if the stream of the client was not open yet.
      const { toolLists, promptLists, resourceLists } = ann.received;
      return toolLists > before.toolLists && promptLists > before.promptLists && resourceLists > before.resourceLists;
    });
    expect((await ann.tools()).map(({ name }) => name)).toContain('mcp__up__more');
    expect((await ann.resources()).map(({ uri }) => uri)).toContain('note://more');
    expect((await ann.prompts()).map(({ name }) => String(name)).some((name) => name.endsWith('more'))).toBe(true);
  },
  90_000,
);
