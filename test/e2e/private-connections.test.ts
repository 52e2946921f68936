import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { Authenticate } from '../../src/gateway/auth/authenticate.ts';
import { gatewayUnderTest } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { EVERYTHING } from '../servers/everything.ts';
import { type Endpoint, INTERACTIVE_CLIENTS, type InteractiveClient } from '../servers/interactive-clients.ts';
import { until } from '../until.ts';
import { BIN, project } from './heddle-command.ts';

const REFERENCE = { command: process.execPath, args: [EVERYTHING, 'stdio'] };
const GZIP = { data: 'data:text/plain,hello', outputType: 'resourceLink', name: 'own.gz' };
const OWN = 'demo://resource/session/own.gz';
const DOCUMENT = 'demo://resource/static/document/features.md';

/** Takes the token for the name of the caller. */
const byName: Authenticate = ({ headers }) => {
  const id = /^Bearer ([\w-]+)$/.exec(headers.authorization ?? '')?.[1];
  return id === undefined ? undefined : { id, roles: ['user'], via: 'gateway' };
};

async function open(endpoint: Endpoint, capabilities?: object): Promise<InteractiveClient> {
  const client = await INTERACTIVE_CLIENTS['SDK 1.32'](endpoint, capabilities as never);
  onTestFinished(() => client.close());
  return client;
}

const urisOf = async (client: InteractiveClient) => (await client.resources()).map(({ uri }) => String(uri));

verifies(
  'R7',
  'a resource on the private connection of one principal reaches no other client',
  async () => {
    const { port } = await gatewayUnderTest({ servers: { up: REFERENCE }, authenticate: byName });
    const at = (token: string): Endpoint => ({ transport: 'http', url: `http://127.0.0.1:${port}/mcp`, token });
    const [ann, bob, plain] = [await open(at('ann')), await open(at('bob')), await open(at('cy'), {})];
    const others = [bob, plain];
    for (const client of [ann, ...others]) {
      await client.call('mcp__up__echo', { message: 'open' });
      await client.subscribe(DOCUMENT);
    }
    const before = await Promise.all(others.map(urisOf));

    await ann.call('mcp__up__gzip-file-as-resource', GZIP);
    await ann.call('mcp__up__toggle-subscriber-updates');
    await until('ann has the notifications', () => ann.received.resourceLists > 0 && ann.received.updated.length > 0);
    expect(await urisOf(ann)).toContain(OWN);
    expect((await ann.read(OWN)).contents).toHaveLength(1);

    expect(await Promise.all(others.map(urisOf))).toEqual(before);
    for (const other of others) await expect(other.read(OWN)).rejects.toMatchObject({ code: -32002 });
    expect(others.map(({ received }) => received.updated)).toEqual([[], []]);
  },
  60_000,
);

verifies(
  'R7',
  'a resource on the shared connection is not listed to a client with a private one',
  async () => {
    const { port } = await gatewayUnderTest({ servers: { up: REFERENCE }, authenticate: byName });
    const at = (token: string): Endpoint => ({ transport: 'http', url: `http://127.0.0.1:${port}/mcp`, token });
    const [ann, plain] = [await open(at('ann')), await open(at('cy'), {})];
    await ann.call('mcp__up__echo', { message: 'open' });
    await plain.call('mcp__up__gzip-file-as-resource', GZIP);
    expect(await urisOf(plain)).toContain(OWN);
    expect(await urisOf(ann)).not.toContain(OWN);
  },
  60_000,
);

verifies(
  'P1',
  '`serve --stdio` starts one process of a server for a client with capabilities',
  async () => {
    const started = 'started';
    const script = `echo $$ >> ${started}; exec ${process.execPath} ${EVERYTHING} stdio`;
    const { folder, env, heddle } = project({
      '.mcp.json': { mcpServers: { up: { command: 'sh', args: ['-c', script] } } },
      'heddle.json': { builtins: { filesystem: { enabled: false } } },
    });
    await heddle(['--version']); // Trusts the project.
    const args = [BIN, 'serve', '--stdio'];
    const client = await open({ transport: 'stdio', command: process.execPath, args, cwd: folder, env });
    const listed = async () => (await client.tools()).map(({ name }) => name);
    await until('its tools are listed', async () => (await listed()).includes('mcp__up__trigger-elicitation-request'));
    await client.subscribe(DOCUMENT);
    const calls = Array.from({ length: 4 }, () => client.call('mcp__up__trigger-elicitation-request'));
    for (const result of await Promise.all(calls)) expect(JSON.stringify(result)).toContain('Ann Example');
    await client.call('mcp__up__gzip-file-as-resource', GZIP);
    expect(await urisOf(client)).toContain(OWN);
    expect(existsSync(join(folder, started))).toBe(true);
    expect(readFileSync(join(folder, started), 'utf8').trim().split('\n')).toHaveLength(1);
  },
  60_000,
);

verifies(
  'R7',
  'concurrent calls and reads of one session use one process, also of a server that elicits without naming a call',
  async () => {
    const { port } = await gatewayUnderTest({ servers: { up: REFERENCE }, authenticate: byName });
    for (const transport of ['http', 'ws'] as const) {
      const ann = await open({ transport, url: `http://127.0.0.1:${port}/mcp`, token: `ann-${transport}` });
      await ann.call('mcp__up__trigger-elicitation-request');
      await ann.call('mcp__up__gzip-file-as-resource', GZIP);
      void ann.call('mcp__up__trigger-long-running-operation', { duration: 120, steps: 1 }).catch(() => {});
      expect((await ann.read(OWN)).contents).toHaveLength(1);
      await ann.call('mcp__up__gzip-file-as-resource', { ...GZIP, name: 'second.gz' });
      expect(await urisOf(ann)).toEqual(expect.arrayContaining([OWN, OWN.replace('own', 'second')]));
      expect(JSON.stringify(await ann.call('mcp__up__trigger-elicitation-request'))).toContain('Ann Example');
    }
  },
  60_000,
);
