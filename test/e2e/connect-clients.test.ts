import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { ApplicationName } from '../../src/config/hosts/hosts.ts';
import { verifies } from '../requirements.ts';
import { type Endpoint, SDK_CLIENTS, type SdkClient } from '../servers/sdk-clients.ts';
import { until } from '../until.ts';
import { type HostMachine, hostMachine, writtenEntry } from './connected-host.ts';
import { SERVERS } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const DEMO = { command: process.execPath, args: [join(SERVERS, 'pid-server.mjs')] };
const CURSOR = '.cursor/mcp.json';
const CODEX = '.codex/config.toml';
const cursorText = `{\n  "mcpServers": {\n    "demo": ${JSON.stringify(DEMO)}\n  }\n}\n`;
const codexText = `# mine\n[mcp_servers.demo]\ncommand = "${DEMO.command}"\nargs = ["${DEMO.args[0]}"]\n`;
const opencodeText = JSON.stringify(
  { mcp: { demo: { type: 'local', command: [DEMO.command, ...DEMO.args] } } },
  null,
  2,
);

async function open(endpoint: Endpoint): Promise<SdkClient> {
  const [[, connect] = []] = SDK_CLIENTS;
  if (connect === undefined) throw new Error('There is no SDK client.');
  const client = await connect(endpoint);
  onTestFinished(() => client.close());
  return client;
}

/** Waits for the tool of the imported server: the gateway reads its files again, and the server may start slowly. */
const untilListed = (client: SdkClient) =>
  until('the imported tool is listed', async () => (await client.list()).some(({ name }) => name === 'mcp__demo__who'));

/** Returns the command of a host's entry, as the host would start it, in a folder that has nothing to do with Heddle. */
function commandOf(host: ApplicationName, { at, bytes }: HostMachine, file: string): Endpoint {
  const { command, args = [], env, environment } = writtenEntry(host, bytes(file));
  const [program = '', ...words] = [command, args].flat() as string[];
  const { HOME = '', PATH = '' } = at.env;
  const own = (env ?? environment ?? {}) as Readonly<Record<string, string>>;
  return { command: program, args: words, cwd: '/', env: { HOME, PATH, ...own } };
}

for (const [host, file, text] of [
  ['cursor', CURSOR, cursorText],
  ['codex', CODEX, codexText],
  ['opencode', '.config/opencode/opencode.json', opencodeText],
] as const) {
  verifies('C12', `an SDK client that starts the command in the file of ${host} has the imported tools`, async () => {
    const machine = hostMachine({ [file]: text });
    await machine.at.heddle(['connect', host, '--yes']);
    const client = await open(commandOf(host, machine, file));
    await untilListed(client);
  });
}

verifies(
  'C12',
  'an SDK client has the tools with the URL and key that connect --url wrote, until undo revokes it',
  async () => {
    const { at, bytes, path } = hostMachine({ [CURSOR]: cursorText, [CODEX]: codexText });
    const up = await at.up();
    const connected = await at.heddle(['connect', 'cursor', '--url', '--yes']);
    expect(connected.stdout).toContain(`Connected: Cursor uses ${up.url}.`);
    expect(connected.stdout).toContain('Its key is connect-cursor (role user, with a person: you).');
    expect(connected.stderr).toContain(`Other users of this machine can read ${path(CURSOR)}, which has a key now.`);
    expect(connected.stderr).toContain(`\`chmod 600 ${path(CURSOR)}\` changes that.`);
    const { url, headers } = writtenEntry('cursor', bytes(CURSOR)) as {
      url: string;
      headers: { Authorization: string };
    };
    const token = headers.Authorization.replace(/^Bearer /, '');
    expect(token).toMatch(/^hk_/);
    expect(token).not.toBe(up.token);
    expect(connected.stdout + connected.stderr).not.toContain(token);
    const client = await open({ url, token });
    await untilListed(client);

    const again = await at.heddle(['connect', 'cursor', '--url', '--yes']);
    expect(again.stdout).toContain('is connected already. Nothing was changed.');
    await at.heddle(['connect', 'codex', '--url', '--yes']);
    expect(writtenEntry('codex', bytes(CODEX))).toMatchObject({
      url,
      http_headers: { Authorization: expect.stringMatching(/^Bearer hk_/) },
    });

    const undone = await at.heddle(['connect', 'cursor', '--undo']);
    expect(undone.stdout).toContain(`${path(CURSOR)} is as it was, byte for byte.\nThe key connect-cursor is revoked.`);
    expect(bytes(CURSOR)).toBe(cursorText);
    await expect(open({ url, token })).rejects.toThrow();
    const keys = JSON.parse((await at.heddle(['key', 'list', '--json'])).stdout);
    expect(keys.map(({ name }: { name: string }) => name)).toEqual(['connect-codex']);
  },
);

verifies('C12', 'connect --url of a host without URLs in its file says so and writes the command', async () => {
  const file = '.config/Claude/claude_desktop_config.json';
  const { at, bytes } = hostMachine({ [file]: cursorText });
  const { stderr } = await at.heddle(['connect', 'claude-desktop', '--url', '--yes']);
  expect(stderr).toContain('Claude Desktop keeps no URLs of servers in its file');
  expect(writtenEntry('claude-desktop', bytes(file))).toMatchObject({ command: process.execPath });
});

verifies('L1', 'on a terminal, connect asks whether to import, to disable and to write', async () => {
  const { at, bytes } = hostMachine({ [CURSOR]: cursorText });
  const { type, ended, screen } = await terminal(at, ['connect', 'cursor'], { rows: 50, cols: 200 });
  await type('has servers that Heddle has not: demo.', '');
  await type('Disable them in Cursor, so that no tool appears twice: demo', '');
  await type('+    "heddle": {', '');
  expect(await ended()).toBe(0);
  expect(screen()).toContain('Connected: Cursor starts `heddle serve --stdio`. Restart Cursor to use it.');
  expect(Object.keys(JSON.parse(bytes(CURSOR)).mcpServers)).toEqual(['heddle']);
});

verifies('L1', 'on a terminal, a user who declines to write has nothing changed, not even imported', async () => {
  const { at, bytes } = hostMachine({ [CODEX]: codexText });
  const { type, ended, screen } = await terminal(at, ['connect', 'codex'], { rows: 50, cols: 200 });
  await type('has servers that Heddle has not: demo.', 'y');
  await type('Disable them in Codex', 'n');
  await type('Write ', 'n');
  expect(await ended()).toBe(0);
  expect(screen()).toContain('Nothing was changed.');
  expect(screen()).not.toContain('enabled = false');
  expect(bytes(CODEX)).toBe(codexText);
  expect(existsSync(join(at.home, 'heddle.json'))).toBe(false);
});

verifies('L1', 'a file that changes between the difference and the answer is not written', async () => {
  const { at, path, bytes } = hostMachine({ [CODEX]: codexText });
  const { type, ended, screen } = await terminal(at, ['connect', 'codex', '--url'], { rows: 50, cols: 200 });
  await type('Import them into', '');
  await type('Disable them in Codex', '');
  await until('the last question is shown', () => screen().includes(`Write ${path(CODEX)}?`));
  appendFileSync(path(CODEX), '# later\n');
  await type('Write ', '');
  expect(await ended()).toBe(3);
  expect(screen()).toContain('was changed by another program meanwhile, so it was not written.');
  expect(bytes(CODEX)).toBe(`${codexText}# later\n`);
  expect(existsSync(join(at.home, 'heddle.json'))).toBe(false);
  expect((await at.heddle(['connect', 'codex', '--undo'])).stderr).toContain('Codex is not connected');
  expect(JSON.parse((await at.heddle(['key', 'list', '--json'])).stdout)).toEqual([]);
});
