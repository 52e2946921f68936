import { describe, expect, onTestFinished } from 'vitest';
import { verifies } from '../requirements.ts';
import {
  ELICITATION_CLIENTS,
  type ElicitationClient,
  type Endpoint,
  type User,
} from '../servers/elicitation-clients.ts';
import { EVERYTHING } from '../servers/everything.ts';
import { until } from '../until.ts';
import { project } from './heddle-command.ts';

const REFERENCE = { command: process.execPath, args: [EVERYTHING, 'stdio'] };
const FILES = { '.mcp.json': { mcpServers: { up: REFERENCE } } };
const NO_FILES = { 'heddle.json': { builtins: { filesystem: { enabled: false } } } };
const NEEDS_CAPABILITY = [
  'get-roots-list',
  'trigger-elicitation-request',
  'trigger-sampling-request',
  'trigger-url-elicitation',
];

/** Answers every input request. */
const user: User = (method) => {
  if (method === 'roots/list') return { roots: [{ uri: 'file:///home/ann', name: 'Ann' }] };
  if (method === 'elicitation/create') return { action: 'accept', content: { name: 'Ann Example' } };
  return { role: 'assistant', model: 'none', content: { type: 'text', text: 'a text of the model' } };
};

async function connect(era: 'legacy' | 'modern', way: Endpoint, capabilities?: object): Promise<ElicitationClient> {
  const declared = capabilities && { capabilities: capabilities as Readonly<Record<string, unknown>> };
  const client = await ELICITATION_CLIENTS[era](way, { user, ...declared });
  onTestFinished(() => client.close());
  return client;
}

const namesIn = async (client: ElicitationClient) =>
  (await client.list()).map(({ name }) => String(name).replace('mcp__up__', '')).sort();

describe.each(['legacy', 'modern'] as const)('a %s client with capabilities', (era) => {
  verifies(
    'T10',
    'sees the tools of a direct connection, which other clients do not, before and after a restart',
    async () => {
      const { up, heddle } = project({ ...FILES, ...NO_FILES });
      const direct = await namesIn(await connect('legacy', REFERENCE));
      const common = await namesIn(await connect('legacy', REFERENCE, {}));
      expect(direct.filter((name) => !common.includes(name))).toEqual(NEEDS_CAPABILITY);

      const first = await up();
      // Another client starts the server, which may need longer than the 2 s that a list waits for it.
      const starter = await connect(era, first, {});
      await until('the server is listed', async () => (await namesIn(starter)).length > 0);
      const plain = await connect(era, first, {});
      expect(await namesIn(plain)).toEqual(common);
      let toPlain = 0;
      await plain.onToolsChanged(() => toPlain++);
      const capable = await connect(era, first);
      let toCapable = 0;
      await capable.onToolsChanged(() => toCapable++);
      await capable.list();
      await until('the list change has come', () => toCapable > 0);
      expect(await namesIn(capable)).toEqual(direct);
      expect([await namesIn(plain), toPlain]).toEqual([common, 0]);
      await expect(plain.call('mcp__up__get-roots-list')).rejects.toMatchObject({ data: { code: 'NAME_UNKNOWN' } });
      await first.stop();

      const { stdout } = await heddle(['list', 'tools', '--json']);
      // The terminal handles forms and URLs alone.
      const ofTerminal = NEEDS_CAPABILITY.filter((name) => name.includes('elicitation'));
      expect(NEEDS_CAPABILITY.filter((name) => stdout.includes(name))).toEqual(ofTerminal);
      const second = await up();
      expect(await namesIn(await connect(era, second, {}))).toEqual(common);
      expect(await namesIn(await connect(era, second))).toEqual(direct);
    },
  );

  verifies('T10', 'calls such a tool at once and gets its input requests', async () => {
    const { up } = project({ ...FILES, ...NO_FILES });
    const client = await connect(era, await up());
    const resultOf = async (tool: string, input = {}) =>
      JSON.stringify(await client.call(`mcp__up__${tool}`, { input }));
    expect(await resultOf('trigger-elicitation-request')).toContain('Ann Example');
    expect(await resultOf('trigger-sampling-request', { prompt: 'Write.' })).toContain('a text of the model');
    expect(await resultOf('get-roots-list')).toContain('file:///home/ann');
  });
});

verifies('T10', 'does not list to others the tools that `heddle call` sees through its capabilities', async () => {
  const { heddle } = project({ ...FILES, ...NO_FILES });
  const listed = async () => JSON.parse((await heddle(['list', 'tools', '--trust-project', '--json'])).stdout);
  const before = await listed();
  await heddle(['call', 'up.get-sum', 'a:=1', 'b:=2', '--trust-project']);
  expect(await listed()).toEqual(before);
});
