import { readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../requirements.ts';
import { temporaryFolder } from '../temporary-heddle.ts';
import { until } from '../until.ts';
import { hostMachine, writtenEntry } from './connected-host.ts';
import { SERVERS } from './heddle-command.ts';
import { connectSdk } from './waiting-clients.ts';

const CURSOR = '.cursor/mcp.json';
const CODEX = '.codex/config.toml';
const ACCEPT = { action: 'accept', content: { approve: true } };

type Machine = ReturnType<typeof hostMachine>;

/** Starts the command of Cursor's entry as Cursor does, with a client that can show forms. */
async function startEntry({ at, bytes }: Machine, era: 'legacy' | 'modern') {
  const { command, args } = writtenEntry('cursor', bytes(CURSOR)) as { command: string; args: string[] };
  const endpoint = { transport: 'stdio', command, args, cwd: at.folder, env: at.env } as const;
  const client = await connectSdk(endpoint, { era, forms: true });
  onTestFinished(() => client.close());
  return client;
}

/** A machine on which Cursor is connected. Every call asks, and no request waits for approvers. */
const countingMachine = async () => {
  const counted = join(await temporaryFolder(), 'counted');
  const counting = { command: process.execPath, args: [join(SERVERS, 'key-counting-server.mjs'), counted, 'add'] };
  const own = hostMachine(
    { [CURSOR]: JSON.stringify({ mcpServers: { counting } }) },
    { 'heddle.json': { mode: 'strict', approvals: { keepOpenMs: 0 } } },
  );
  await own.at.heddle(['connect', 'cursor', '--yes']);
  return own;
};

for (const era of ['legacy', 'modern'] as const) {
  verifies('G7', `a connected host asks its person by a ${era} form, until its key is revoked`, async () => {
    const own = await countingMachine();
    const client = await startEntry(own, era);
    const first = client.call('add', 'a');
    await until('the form is shown', () => client.forms.length === 1);
    client.forms[0]?.answer(ACCEPT);
    expect(await first).toBe('ok');
    await own.at.heddle(['key', 'revoke', 'connect-cursor']);
    expect(await client.call('add', 'b')).toContain('APPROVAL_PENDING');
    expect(client.forms).toHaveLength(1);
  });
}

verifies('G7', '`serve --stdio` without a key, or with one that has no person, shows no form', async () => {
  const own = await countingMachine();
  const { stdout: key } = await own.at.heddle(['key', 'create', 'program']);
  const { command, args } = writtenEntry('cursor', own.bytes(CURSOR)) as { command: string; args: string[] };
  const withoutKey = args.slice(0, args.indexOf('--host-key'));
  own.write('program.key', key);
  for (const more of [[], ['--host-key', own.path('program.key')], ['--host-key', own.path('missing')]]) {
    const { folder: cwd, env } = own.at;
    const endpoint = { transport: 'stdio' as const, command, args: [...withoutKey, ...more], cwd, env };
    const client = await connectSdk(endpoint, { era: 'legacy', forms: true });
    onTestFinished(() => client.close());
    expect(await client.call('add', 'a')).toContain('APPROVAL_PENDING');
    expect(client.forms).toEqual([]);
  }
});

verifies(
  'G7',
  'the key of a host is in a private file, in no argument and in no output, and undo removes it',
  async () => {
    const own = await countingMachine();
    const { args } = writtenEntry('cursor', own.bytes(CURSOR)) as { args: string[] };
    const file = args[args.indexOf('--host-key') + 1] ?? '';
    const key = readFileSync(file, 'utf8').trim();
    expect([key.slice(0, 3), statSync(file).mode & 0o777]).toEqual(['hk_', 0o600]);
    expect(own.bytes(CURSOR)).not.toContain(key);
    const listed = JSON.parse((await own.at.heddle(['key', 'list', '--json'])).stdout);
    expect(listed).toMatchObject([{ name: 'connect-cursor', roles: ['user'], person: true }]);
    expect((await own.at.heddle(['key', 'list'])).stdout).toMatch(/PERSON[\s\S]*connect-cursor +user +yes/);
    const undone = await own.at.heddle(['connect', 'cursor', '--undo']);
    expect(undone.stdout).toContain('The key connect-cursor is revoked.');
    expect(readdirSync(join(own.at.home, 'connect'))).toEqual([]);
  },
);

verifies(
  'G7',
  'connect and doctor name hosts of an earlier version, and connecting again gives them a key',
  async () => {
    const url = 'http://127.0.0.1:7433/mcp';
    const entry = { command: process.execPath, args: ['/opt/heddle/bin/heddle', 'serve', '--stdio'] };
    const toml = `[mcp_servers.heddle]\nurl = "${url}"\nhttp_headers = { Authorization = "Bearer hk_older" }\n`;
    const { at, bytes } = hostMachine({ [CURSOR]: JSON.stringify({ mcpServers: { heddle: entry } }), [CODEX]: toml });
    const shown = await at.heddle(['connect']);
    expect(shown.stdout).toContain('Connect it again: heddle connect cursor\n');
    expect(shown.stdout).toContain('Connect it again: heddle connect codex --url\n');
    const findings = JSON.parse((await at.heddle(['doctor', '--json'])).stdout) as { subject: string; fix: string }[];
    expect(findings.find(({ subject }) => subject === 'cursor')).toMatchObject({
      level: 'warn',
      fix: 'Run `heddle connect cursor`.',
    });
    await at.heddle(['connect', 'codex', '--url', '--yes']);
    await at.heddle(['connect', 'cursor', '--yes']);
    expect(bytes(CODEX)).not.toContain('hk_older');
    expect((await at.heddle(['connect'])).stdout).not.toContain('Connect it again');
  },
);

verifies('C12', 'a failed connect leaves the host its earlier key, and a later one revokes it', async () => {
  const { at, bytes, path, write } = hostMachine({ [CURSOR]: '{}\n' });
  const keys = async () => JSON.parse((await at.heddle(['key', 'list', '--json'])).stdout) as { name: string }[];
  await at.heddle(['connect', 'cursor', '--url', '--yes']);
  await at.heddle(['key', 'revoke', 'connect-cursor']);
  const older = (await at.heddle(['key', 'create', 'connect-cursor'])).stdout.trim();
  write(CURSOR, bytes(CURSOR).replace(/hk_[\w-]+/, older));
  const before = await keys();
  // The lock of `editFile`: while it exists, connect waits with its record written and the host's file as it was.
  const lock = path('.cursor/.mcp.json.heddle-new');
  write('.cursor/.mcp.json.heddle-new', '');
  utimesSync(lock, new Date('2999-01-01'), new Date('2999-01-01'));
  const folder = join(at.home, 'connect');
  const failed = await at.heddle(['connect', 'cursor', '--url', '--yes'], {
    async meanwhile() {
      await until('the record has the text to write', () => {
        const name = readdirSync(folder).find((one) => one.endsWith('.json')) ?? '';
        return JSON.parse(readFileSync(join(folder, name), 'utf8')).written.length === 2;
      });
      write(CURSOR, `${bytes(CURSOR)}\n`);
      rmSync(lock);
    },
  });
  expect([failed.code, failed.stderr]).toEqual([
    3,
    expect.stringContaining('was changed by another program meanwhile'),
  ]);
  expect(await keys()).toEqual(before);
  await at.heddle(['connect', 'cursor', '--url', '--yes']);
  expect(bytes(CURSOR)).not.toContain(older);
  expect((await keys()).map(({ name }) => name)).toEqual(['connect-cursor-2']);
  expect((await at.heddle(['connect', 'cursor', '--undo'])).stdout).toContain('The key connect-cursor-2 is revoked.');
});
