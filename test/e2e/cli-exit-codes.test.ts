import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { carriersOf } from '../alive.ts';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';
import { project, SERVERS } from './heddle-command.ts';

const ODD = join(SERVERS, 'odd-tools.mjs');
const FAULTY = join(SERVERS, 'faulty-stdio.mjs');

function configured(entry: object = {}, more: object = {}) {
  const odd = { command: process.execPath, args: [ODD], ...entry };
  return { 'heddle.json': { mcpServers: { odd }, ...more } };
}

const HARMLESS = { tools: { hang: { idempotent: true }, die: { readOnly: true } } };

const EXITS: readonly (readonly [string, number, string, readonly string[], ReturnType<typeof configured>])[] = [
  ['an answer', 0, '', ['odd.echo', 'message=x'], configured()],
  ['an error of the tool', 1, 'It did not work', ['odd.fail'], configured()],
  ['a protocol error of the server', 1, 'UPSTREAM_REFUSED: odd answered with an error: ', ['odd.refuse'], configured()],
  ['a usage that makes no sense', 2, 'USAGE_INVALID', ['odd.echo', '--nope'], configured()],
  ['an unknown name', 2, 'NAME_UNKNOWN', ['odd.nothing'], configured()],
  ['input that does not fit', 2, 'INPUT_INVALID', ['odd.echo'], configured()],
  [
    'a tool that a rule hides',
    5,
    'PERMISSION_DENIED',
    ['odd.fail'],
    configured({}, { permissions: { deny: ['mcp__odd__fail'] } }),
  ],
  [
    'a variable without a value',
    3,
    'VARIABLE_UNSET',
    ['odd.fail'],
    configured({ env: { KEY: '${NOT_SET_ANYWHERE}' } }),
  ],
  ['a server that is disabled', 3, 'SERVER_DISABLED', ['odd.fail'], configured({ enabled: false })],
  ['a sandbox that cannot be had', 3, 'SANDBOX_UNAVAILABLE', ['odd.fail'], configured({ sandbox: {} })],
  ['a file that is not there', 3, 'CONFIG_INVALID', ['odd.fail', '--config', 'none.json'], configured()],
  [
    'a call that needs approval',
    6,
    'APPROVAL_PENDING',
    ['odd.fail'],
    configured({}, { permissions: { ask: ['mcp__odd'] } }),
  ],
  [
    'a call that needs approval in CI',
    5,
    'APPROVAL_REQUIRED',
    ['odd.fail'],
    configured({}, { permissions: { ask: ['mcp__odd'] }, approvals: { unattended: true } }),
  ],
  [
    'a harmless call that takes too long',
    7,
    'UPSTREAM_TIMEOUT',
    ['odd.hang', '--timeout', '300ms'],
    configured(HARMLESS),
  ],
  [
    'a server that cannot be started',
    8,
    'UPSTREAM_UNREACHABLE',
    ['odd.fail'],
    configured({ command: 'no-such-program' }),
  ],
  ['a harmless call whose server dies', 8, 'UPSTREAM_FAILED', ['odd.die'], configured(HARMLESS)],
  ['a call that may have happened: too late', 9, 'OUTCOME_UNKNOWN', ['odd.hang', '--timeout', '300'], configured()],
  ['a call that may have happened: died', 9, 'OUTCOME_UNKNOWN', ['odd.die'], configured()],
];

describe('the exit code of heddle call', () => {
  it.each(EXITS)('L4: after %s is %i', async (_, exit, message, args, files) => {
    const { code, stdout, stderr } = await project(files).heddle(['call', ...args]);
    expect([code, stderr]).toEqual([exit, expect.stringContaining(message)]);
    if (exit !== 0) expect(stdout).toBe('');
    if (exit > 1) expect(stderr).toMatch(/^error \w+: .+\n {2}fix: .+\n$/s);
  });

  verifies('L4', 'is 0 when the user approves a call with --yes', async () => {
    const { heddle } = project(configured({}, { permissions: { ask: ['mcp__odd'] } }));
    const { code, stdout } = await heddle(['call', 'odd.plain', 'message=agreed', '--yes']);
    expect([code, stdout]).toEqual([0, 'agreed\n']);
  });

  verifies('L4', 'is 4 when the server requires authentication', async () => {
    const server = createServer((_, response) => void response.writeHead(401).end());
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    const { code, stderr } = await project().heddle(['call', url, 'anything']);
    expect([code, stderr]).toEqual([4, expect.stringContaining('AUTH_NEEDED')]);
  });

  verifies('L4', 'is 5 for a call with effects that cannot be audited, and 0 for a read-only call', async () => {
    const { heddle, home } = project(configured({ tools: { plain: { readOnly: true } } }));
    await heddle(['call', 'odd.plain', 'message=first']);
    const database = new DatabaseSync(join(home, 'heddle.sqlite'));
    onTestFinished(() => database.close());
    database.exec('BEGIN IMMEDIATE'); // Like another process with an open transaction.
    const [writing, reading] = await Promise.all([
      heddle(['call', 'odd.echo', 'message=x']),
      heddle(['call', 'odd.plain', 'message=x']),
    ]);
    expect([writing.code, writing.stderr]).toEqual([5, expect.stringContaining('AUDIT_UNAVAILABLE')]);
    expect([reading.code, reading.stdout]).toEqual([0, 'x\n']);
  });

  verifies('L4', 'is 3 when the folder of Heddle is a file, and 70 when the store cannot be opened', async () => {
    const files = project({ file: '', 'home/heddle.sqlite/not-a-store': '' });
    for (const [home, exit, says] of [
      ['file', 3, 'CONFIG_INVALID'],
      ['home', 70, 'STORE_UNAVAILABLE'],
    ] as const) {
      const { code, stderr } = await files.heddle(['call', 'filesystem.fs_list_directory'], {
        env: { HEDDLE_HOME: join(files.folder, home) },
      });
      expect([code, stderr]).toEqual([exit, expect.stringContaining(says)]);
    }
  });

  verifies('L4', 'is 130 after Ctrl-C, and no process is left', async () => {
    const mark = `HEDDLE_E2E=${process.pid}.interrupted`;
    const [name = '', value = ''] = mark.split('=');
    const { heddle } = project(configured({ env: { [name]: value } }));
    const outcome = await heddle(['call', 'odd.hang'], {
      async meanwhile(child) {
        await until('the server runs', () => carriersOf(mark).length > 0);
        child.kill('SIGINT');
      },
    });
    expect([outcome.code, outcome.stdout]).toEqual([130, '']);
    expect(outcome.stderr).toContain('CALL_CANCELLED');
    await until('nothing is left', () => carriersOf(mark).length === 0);
  });
});

for (const [signal, ...args] of [
  ['SIGINT', 'list', 'servers', '--check', '--json'], // Rows of the table are printed as the checks end.
  ['SIGTERM', 'doctor'],
  ['SIGINT', 'doctor', 'slow'],
] as const) {
  verifies(
    'L4',
    `exits with 130 after ${signal} during heddle ${args.join(' ')}, without a partial report`,
    async () => {
      const mark = `HEDDLE_E2E=${process.pid}.${args.join('.')}`;
      const [name = '', value = ''] = mark.split('=');
      const slow = { command: process.execPath, args: [FAULTY, 'hang=initialize'], env: { [name]: value } };
      const { heddle } = project({ 'heddle.json': { mcpServers: { slow } } });
      const outcome = await heddle(args, {
        async meanwhile(child) {
          await until('the server runs', () => carriersOf(mark).length > 0);
          child.kill(signal);
        },
      });
      expect([outcome.code, outcome.stdout]).toEqual([130, '']);
      expect(outcome.stderr).toMatch(/CALL_CANCELLED.*The check was cancelled\./);
    },
  );
}
