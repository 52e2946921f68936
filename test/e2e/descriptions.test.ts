import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { MEASURES } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { type Endpoint, SDK_CLIENTS } from '../servers/sdk-clients.ts';
import { until } from '../until.ts';
import { BIN, project, SERVERS } from './heddle-command.ts';

const DESCRIPTION = 'Ünïcode 👍 words. '.repeat(600).slice(0, 10_000);
const LISTS = {
  tools: [{ name: 'long', description: DESCRIPTION, inputSchema: { type: 'object', description: DESCRIPTION } }],
  resources: [{ uri: 'note://long', name: 'long', description: DESCRIPTION }],
  templates: [{ uriTemplate: 'note://{day}', name: 'day', description: DESCRIPTION }],
  prompts: [{ name: 'long', description: DESCRIPTION }],
};
const CONFIG = {
  mcpServers: {
    listing: { command: process.execPath, args: [join(SERVERS, 'listing-server.mjs'), JSON.stringify(LISTS)] },
  },
  profiles: { short: { maxDescriptionChars: 200 }, whole: {} },
};

async function toolsOf(connect: (typeof SDK_CLIENTS)[number][1], endpoint: Endpoint) {
  const client = await connect(endpoint);
  onTestFinished(() => client.close());
  let found: object | undefined;
  // A list waits 2 s for a server that starts for the first time. On a busy machine it may take longer.
  await until('the tool is listed', async () => {
    found = (await client.list()).find(({ name }) => name === 'mcp__listing__long');
    return found !== undefined;
  });
  return found as Record<string, unknown>;
}

// A process is started for each client over stdio: in `npm test` the first gets the whole text so, the second the cut one.
for (const [index, [name, connect]] of SDK_CLIENTS.entries()) {
  verifies('R8', `passes a description of 10,000 characters whole to ${name}, and cuts it in a profile`, async () => {
    const { up, folder, env } = project({ 'heddle.json': CONFIG });
    const { url, token } = await up();
    const command = process.execPath;
    const args = [BIN, 'serve', '--stdio', '--trust-project'];
    const expected = { description: DESCRIPTION, inputSchema: LISTS.tools[0]?.inputSchema };
    const whole: Endpoint[] = [
      { url, token },
      { url: `${url}/whole`, token },
      ...(MEASURES || index === 0 ? [{ command, args, cwd: folder, env }] : []),
    ];
    for (const endpoint of whole) expect(await toolsOf(connect, endpoint)).toMatchObject(expected);
    const profile = [...args, '--profile', 'short'];
    const cut: Endpoint[] = [
      { url: `${url}/short`, token },
      ...(MEASURES || index === 1 ? [{ command, args: profile, cwd: folder, env }] : []),
    ];
    for (const endpoint of cut) {
      const { description, inputSchema } = await toolsOf(connect, endpoint);
      expect(description).toHaveLength(200);
      expect(String(description)).toMatch(/^Ünïcode 👍 words\..*… \[cut\]$/);
      expect(inputSchema).toEqual(expected.inputSchema);
    }
  });
}

verifies('R8', 'cuts the descriptions of resources, templates and prompts in a profile alone', async () => {
  const { up } = project({ 'heddle.json': CONFIG });
  const { url, token } = await up();
  const listed = async (path: string, method: string) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} });
    const { result } = (await (await fetch(url + path, { method: 'POST', headers, body })).json()) as {
      result: Record<string, { description: string }[]>;
    };
    const lists = Object.values(result).filter(Array.isArray);
    return lists.flat().filter(({ description }) => description.startsWith('Ünïcode'));
  };
  for (const method of ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list']) {
    expect((await listed('', method)).map(({ description }) => description)).toEqual([DESCRIPTION]);
    expect((await listed('/short', method)).map(({ description }) => description.length)).toEqual([200]);
  }
});

verifies('R8', 'refuses a limit that leaves no room for a description', async () => {
  const { heddle } = project({ 'heddle.json': { profiles: { short: { maxDescriptionChars: 3 } } } });
  const { stderr } = await heddle(['config', 'explain', 'profiles']);
  expect(stderr).toMatch(/profiles\.short\.maxDescriptionChars.*(32|at least)/);
});
