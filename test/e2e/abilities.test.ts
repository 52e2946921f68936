import { describe, expect, onTestFinished } from 'vitest';
import { verifies } from '../requirements.ts';
import { ASKABLE_CLIENTS, type AskableClient, type User, type Way } from '../servers/askable-clients.ts';
import { EVERYTHING } from '../servers/everything.ts';
import { until } from '../until.ts';
import { project } from './heddle-command.ts';

const REFERENCE = { command: process.execPath, args: [EVERYTHING, 'stdio'] };
const FILES = { '.mcp.json': { mcpServers: { up: REFERENCE } } };
const NO_FILES = { 'heddle.json': { builtins: { filesystem: { enabled: false } } } };
const ONLY_SOME = [
  'get-roots-list',
  'trigger-elicitation-request',
  'trigger-sampling-request',
  'trigger-url-elicitation',
];

/** Says something to whatever it is asked. */
const user: User = (method) => {
  if (method === 'roots/list') return { roots: [{ uri: 'file:///home/ann', name: 'Ann' }] };
  if (method === 'elicitation/create') return { action: 'accept', content: { name: 'Ann Example' } };
  return { role: 'assistant', model: 'none', content: { type: 'text', text: 'a text of the model' } };
};

async function connect(era: 'legacy' | 'modern', way: Way, capabilities?: object): Promise<AskableClient> {
  const able = capabilities && { capabilities: capabilities as Readonly<Record<string, unknown>> };
  const client = await ASKABLE_CLIENTS[era](way, { user, ...able });
  onTestFinished(() => client.close());
  return client;
}

const namesIn = async (client: AskableClient) =>
  (await client.list()).map(({ name }) => String(name).replace('mcp__up__', '')).sort();

describe.each(['legacy', 'modern'] as const)('a %s client whose user can be asked', (era) => {
  verifies(
    'T10',
    'sees what a direct connection sees, and no other client does, before and after a restart',
    async () => {
      const { up, heddle } = project({ ...FILES, ...NO_FILES });
      const straight = await namesIn(await connect('legacy', REFERENCE));
      const everybodys = await namesIn(await connect('legacy', REFERENCE, {}));
      expect(straight.filter((name) => !everybodys.includes(name))).toEqual(ONLY_SOME);

      const first = await up();
      // Another client starts the server, which may need longer than the 2 s that a list waits for it.
      const starter = await connect(era, first, {});
      await until('the server is listed', async () => (await namesIn(starter)).length > 0);
      const plain = await connect(era, first, {});
      expect(await namesIn(plain)).toEqual(everybodys);
      let toPlain = 0;
      await plain.onToolsChanged(() => toPlain++);
      const able = await connect(era, first);
      let toAble = 0;
      await able.onToolsChanged(() => toAble++);
      await able.list();
      await until('it hears of more', () => toAble > 0);
      expect(await namesIn(able)).toEqual(straight);
      expect([await namesIn(plain), toPlain]).toEqual([everybodys, 0]);
      await expect(plain.call('mcp__up__get-roots-list')).rejects.toMatchObject({ data: { code: 'NAME_UNKNOWN' } });
      await first.stop();

      const { stdout } = await heddle(['list', 'tools', '--json']);
      expect(ONLY_SOME.filter((name) => stdout.includes(name))).toEqual([]);
      const second = await up();
      expect(await namesIn(await connect(era, second, {}))).toEqual(everybodys);
      expect(await namesIn(await connect(era, second))).toEqual(straight);
    },
  );

  verifies('T10', 'calls it at once, and is asked', async () => {
    const { up } = project({ ...FILES, ...NO_FILES });
    const able = await connect(era, await up());
    const said = async (tool: string, input = {}) => JSON.stringify(await able.call(`mcp__up__${tool}`, { input }));
    expect(await said('trigger-elicitation-request')).toContain('Ann Example');
    expect(await said('trigger-sampling-request', { prompt: 'Write.' })).toContain('a text of the model');
    expect(await said('get-roots-list')).toContain('file:///home/ann');
  });
});

verifies('T10', 'what `heddle call` is shown, since it can ask, is shown to nobody who comes later', async () => {
  const { heddle } = project({ ...FILES, ...NO_FILES });
  const listed = async () => JSON.parse((await heddle(['list', 'tools', '--trust-project', '--json'])).stdout);
  const before = await listed();
  await heddle(['call', 'up.get-sum', 'a:=1', 'b:=2', '--trust-project']);
  expect(await listed()).toEqual(before);
});
