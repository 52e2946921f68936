import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { carriersOf } from '../alive.ts';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';
import { project, SERVERS } from './heddle-command.ts';

interface Status {
  readonly name: string;
  readonly state: string;
  readonly reason?: string;
  readonly fix?: string;
}

const MARK = `${process.pid}.broken`;
const env = { HEDDLE_E2E: MARK };
const broken = (how: string) => ({
  command: process.execPath,
  args: [join(SERVERS, 'broken-handshake.mjs'), how],
  env,
});
const odd = { command: process.execPath, args: [join(SERVERS, 'odd-tools.mjs')], env };
// A server that never answers is waited for as long as this.
const connectTimeoutMs = 1000;
const BROKEN = {
  garbage: { ...broken('garbage'), connectTimeoutMs },
  exits: broken('exit'),
  missing: { command: 'no-such-program-anywhere' },
  silent: { ...broken('silent'), connectTimeoutMs },
};
// All connect at once, so that the timeouts do not add up.
const connect = { localConcurrency: 10 };
const CONFIG = { 'heddle.json': { mcpServers: { ...BROKEN, odd }, connect } };

describe('servers that do not work', () => {
  verifies('T2', 'are listed as failed with reason and fix, and the others are connected', async () => {
    const { heddle } = project(CONFIG);
    const { code, stdout, stderr } = await heddle(['list', 'servers', '--check', '--json']);
    const servers = JSON.parse(stdout) as Status[];
    const states = servers.map(({ name, state }) => [name, state]);
    // As `doctor` exits.
    expect([code, stderr, states]).toEqual([
      1,
      '',
      [
        ['garbage', 'failed'],
        ['exits', 'failed'],
        ['missing', 'failed'],
        ['silent', 'failed'],
        ['odd', 'connected'],
        ['filesystem', 'connected'],
      ],
    ]);
    const reasons = Object.fromEntries(servers.map(({ name, reason }) => [name, reason]));
    expect(reasons.missing).toContain('no-such-program-anywhere');
    expect(reasons.exits).toContain('The database is on fire.');
    expect(reasons.silent).toMatch(/did not answer/);
    expect(reasons.garbage).toMatch(/did not answer|not JSON|JSON/);
    for (const { name, state, fix } of servers)
      if (state === 'failed') expect([name, fix]).toEqual([name, expect.stringMatching(/\w/)]);
    await until('no process is left', () => carriersOf(`HEDDLE_E2E=${MARK}`).length === 0);
  });

  verifies('T3', 'are named by the list, which has the tools of the others', async () => {
    const { heddle } = project(CONFIG);
    const { code, stdout, stderr } = await heddle(['list', 'tools', '--json']);
    const names = (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name);
    expect([code, names]).toEqual([0, expect.arrayContaining(['mcp__odd__echo', 'mcp__filesystem__fs_read_file'])]);
    expect(stderr).toContain('missing failed: ');
    expect(stderr).toContain('silent failed: silent started, but: silent did not answer the handshake within 1000 ms.');
  });

  verifies('T3', 'do not affect a call to another server', async () => {
    const { heddle } = project(CONFIG);
    expect(await heddle(['call', 'odd.plain', 'message=works'])).toEqual({ code: 0, stdout: 'works\n', stderr: '' });
    const failed = await heddle(['call', 'exits.anything']);
    expect([failed.code, failed.stderr]).toEqual([8, expect.stringContaining('The database is on fire.')]);
  });
});
