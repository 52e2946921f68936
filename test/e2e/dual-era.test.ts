import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { gatewayUnderTest, TOKEN } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { type Endpoint, INTERACTIVE_CLIENTS, type InteractiveClient } from '../servers/interactive-clients.ts';
import { BIN, project, SERVERS } from './heddle-command.ts';

const DUAL = { command: process.execPath, args: [join(SERVERS, 'dual-era.mjs')], connectTimeoutMs: 60_000 };
const MODERN = { ...DUAL, args: [...DUAL.args, 'modern-only'] };

type ClientName = keyof typeof INTERACTIVE_CLIENTS;

async function open(name: ClientName, endpoint: Endpoint, capabilities?: object): Promise<InteractiveClient> {
  const client = await INTERACTIVE_CLIENTS[name](endpoint, capabilities as never);
  onTestFinished(() => client.close());
  return client;
}

async function gateway(servers: Readonly<Record<string, object>>) {
  const { url } = await gatewayUnderTest({ servers: servers as never });
  const at = { transport: 'http', url, token: TOKEN } as const;
  return (name: ClientName, capabilities?: object) => open(name, at, capabilities);
}

const said = async (client: InteractiveClient, tool: string) => JSON.stringify(await client.call(`mcp__up__${tool}`));

describe.each(['SDK 1.32', 'SDK 2.4 with a session'] as const)('%s on a server of both eras', (name) => {
  verifies('P3', 'answers elicitation and sampling that the server sends during a call', async () => {
    const client = await (await gateway({ up: DUAL }))(name);
    expect(await said(client, 'era')).toContain('legacy');
    expect(await said(client, 'elicit')).toContain('Ann Example');
    expect(await said(client, 'sample')).toContain('a sampled text');
  });

  verifies('P3', 'does the same through `heddle serve --stdio`', async () => {
    const { folder, env, heddle } = project({ '.mcp.json': { mcpServers: { up: DUAL } } });
    await heddle(['--version']); // Trusts the project.
    const args = [BIN, 'serve', '--stdio'];
    const client = await open(name, { transport: 'stdio', command: process.execPath, args, cwd: folder, env });
    expect(await said(client, 'elicit')).toContain('Ann Example');
    expect(await said(client, 'era')).toContain('legacy');
  });

  verifies('P3', 'uses the modern connection of a server that has no other era', async () => {
    const client = await (await gateway({ up: MODERN }))(name);
    expect(await said(client, 'era')).toContain('modern');
    expect(await said(client, 'era')).toContain('modern');
  });
});

verifies('P3', 'a modern client, and one without capabilities, share the modern connection', async () => {
  const connect = await gateway({ up: DUAL });
  const modern = await connect('SDK 2.4 in the modern era');
  const legacy = await connect('SDK 1.32');
  const plain = await connect('SDK 1.32', {});
  const eras = [];
  for (const client of [modern, legacy, plain, modern]) eras.push(/legacy|modern/.exec(await said(client, 'era'))?.[0]);
  expect(eras).toEqual(['modern', 'legacy', 'modern', 'modern']);
});

verifies('C2', '`protocol` fixes the protocol version of a server', async () => {
  const eraOf = async (entry: object, name: ClientName) => said(await (await gateway({ up: entry }))(name), 'era');
  expect(await eraOf({ ...DUAL, protocol: '2026-07-28' }, 'SDK 1.32')).toContain('modern');
  expect(await eraOf({ ...DUAL, protocol: '2025-06-18' }, 'SDK 2.4 in the modern era')).toContain('legacy');
  const refused = said(await (await gateway({ up: { ...MODERN, protocol: '2025-11-25' } }))('SDK 1.32'), 'era');
  expect(await refused).toContain(
    '[UPSTREAM_REFUSED] up answered the handshake with an error: Unsupported protocol version: 2025-11-25.',
  );
});
