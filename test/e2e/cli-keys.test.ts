import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { type Project, project, SERVERS } from './heddle-command.ts';
import { workflowProject } from './workflow-project.ts';

const NOTES = join(SERVERS, 'noting-server.mjs');
const NO_KEY = 'PERMISSION_DENIED: The API key is unknown or revoked.';

/** A project with the server `notes` and a profile that contains one tool of the built-in file server. */
function shop(more: object = {}): Project {
  const one = project({ calls: '', 'a.txt': 'hello', 'heddle.json': {} });
  const notes = { command: process.execPath, args: [NOTES, join(one.folder, 'calls')] };
  const profiles = { files: { tools: ['filesystem.fs_read_file'], naming: 'bare' } };
  const config = { mcpServers: { notes }, permissions: { allow: ['mcp__notes'] }, profiles, ...more };
  writeFileSync(join(one.folder, 'heddle.json'), JSON.stringify(config));
  return one;
}

async function keyOf({ heddle }: Project, name: string, ...options: readonly string[]) {
  const { stdout } = await heddle(['key', 'create', name, ...options]);
  return { env: { HEDDLE_KEY: stdout.trim() } };
}

const callersOf = async ({ heddle }: Project, name: string) => {
  const { stdout } = await heddle(['audit', 'search', `name=${name}`, '--json']);
  return [...new Set(JSON.parse(stdout).map(({ caller }: { caller: string }) => caller))];
};

describe('a command with HEDDLE_KEY or --key', () => {
  verifies('L1', 'acts as the key through the gateway, and the audit log names the key', async () => {
    const one = shop();
    await one.up();
    const ci = await keyOf(one, 'ci');
    expect(await one.heddle(['call', 'notes', 'write', 'text=hi'], ci)).toMatchObject({ code: 0, stderr: '' });
    const file = join(one.folder, 'ci.key');
    writeFileSync(file, `${ci.env.HEDDLE_KEY}\n`);
    const other = { env: { HEDDLE_KEY: 'hk_other' } };
    expect(await one.heddle(['call', 'notes.write', 'text=ho', '--key', file], other)).toMatchObject({ code: 0 });
    const stdin = ci.env.HEDDLE_KEY;
    expect(await one.heddle(['call', 'notes.write', 'text=he', '--key', '-'], { stdin })).toMatchObject({ code: 0 });
    expect(await callersOf(one, 'mcp__notes__write')).toEqual(['key:ci']);
    for (const words of [
      ['list', 'tools'],
      ['list', 'tools', '--server', 'notes'],
      ['list', 'categories'],
      ['list', 'workflows'],
      ['describe', 'notes.write'],
      ['search', 'write'],
      ['runs'],
    ]) {
      expect([words, await one.heddle(words, ci)]).toEqual([words, expect.objectContaining({ code: 0 })]);
    }
  });

  verifies('P4', 'sees and calls only what the profile of the key contains', async () => {
    const one = shop();
    await one.up();
    const bound = await keyOf(one, 'bound', '--profile', 'files');
    const listed = await one.heddle(['list', 'tools', '--json'], bound);
    expect(JSON.parse(listed.stdout).map(({ name }: { name: string }) => name)).toEqual(['fs_read_file']);
    expect(await one.heddle(['call', 'fs_read_file', 'path=a.txt'], bound)).toMatchObject({ code: 0 });
    const outside = await one.heddle(['call', 'notes.write', 'text=hi'], bound);
    expect([outside.code, outside.stderr]).toEqual([2, expect.stringContaining('Nothing is named notes.write.')]);
    expect(outside.stderr).not.toContain('hidden');
  });

  verifies('P4', 'does not run as the owner if HEDDLE_KEY is empty, as a secret that a CI job lacks', async () => {
    const one = shop();
    await one.up();
    for (const words of [
      ['call', 'notes.write', 'text=hi'],
      ['call', 'notes.write', 'text=hi', '--local'],
      ['approvals'],
      ['lint'],
    ]) {
      const refused = await one.heddle(words, { env: { HEDDLE_KEY: ' ' } });
      expect([words, refused.code, refused.stderr]).toEqual([
        words,
        2,
        expect.stringContaining('USAGE_INVALID: HEDDLE_KEY is set and empty.'),
      ]);
    }
    const file = join(one.folder, 'ci.key');
    writeFileSync(file, (await keyOf(one, 'ci')).env.HEDDLE_KEY);
    const env = { HEDDLE_KEY: '' };
    expect(await one.heddle(['call', 'notes.write', 'text=hi', '--key', file], { env })).toMatchObject({ code: 0 });
    expect(await one.heddle(['version'], { env })).toMatchObject({ code: 0 });
  });

  verifies('P4', 'is refused without the role, and with an unknown or revoked key', async () => {
    const one = shop();
    const { token } = await one.up();
    const watcher = await keyOf(one, 'watcher', '--role', 'auditor');
    const servers = await one.heddle(['list', 'servers'], watcher);
    expect([servers.code, servers.stdout]).toEqual([0, expect.stringContaining('notes')]);
    for (const words of [
      ['call', 'notes.write', 'text=a'],
      ['list', 'tools'],
      ['search', 'write'],
    ]) {
      const refused = await one.heddle(words, watcher);
      expect([refused.code, refused.stderr]).toEqual([
        5,
        expect.stringContaining('PERMISSION_DENIED: key:watcher has none of the roles user, owner.'),
      ]);
    }
    const ci = await keyOf(one, 'ci');
    const denied = await one.heddle(['list', 'servers'], ci);
    expect([denied.code, denied.stderr]).toEqual([5, expect.stringContaining('key:ci has none of the roles')]);
    await one.heddle(['key', 'revoke', 'ci']);
    for (const HEDDLE_KEY of [ci.env.HEDDLE_KEY, 'hk_forged', token, 'no key']) {
      const refused = await one.heddle(['call', 'notes.write', 'text=a'], { env: { HEDDLE_KEY } });
      expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining(NO_KEY)]);
      expect(refused.stderr).not.toContain(HEDDLE_KEY);
    }
    expect(await callersOf(one, 'mcp__notes__write')).toEqual([]);
  });

  verifies('L1', 'never runs as the owner instead: it needs a gateway and servers of its configuration', async () => {
    const one = shop();
    const ci = await keyOf(one, 'ci');
    const alone = await one.heddle(['call', 'notes.write', 'text=a'], ci);
    expect([alone.code, alone.stderr]).toEqual([
      8,
      expect.stringContaining('UPSTREAM_UNREACHABLE: No gateway is running. An API key acts only through a gateway'),
    ]);
    await one.up();
    const local = await one.heddle(['call', 'notes.write', 'text=a', '--local'], ci);
    expect([local.code, local.stderr]).toEqual([2, expect.stringContaining('--local')]);
    const given = ['--', process.execPath, NOTES, join(one.folder, 'calls')];
    for (const words of [
      ['call', ...given, '::', 'write', 'text=a'],
      ['list', 'tools', ...given],
      ['call', 'http://127.0.0.1:1/mcp', 'write'],
    ]) {
      const refused = await one.heddle(words, ci);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('cannot run as an API key')]);
    }
    writeFileSync(join(one.folder, 'other.json'), '{}');
    const other = await one.heddle(['call', 'notes.write', 'text=a', '--config', 'other.json'], ci);
    expect([other.code, other.stderr]).toEqual([8, expect.stringContaining('has another configuration')]);
  });

  verifies('L1', 'is refused by the commands that run only as the user of this machine', async () => {
    const one = shop();
    const ci = await keyOf(one, 'ci');
    for (const words of [['audit'], ['stats'], ['permissions'], ['key', 'list'], ['doctor'], ['trust'], []]) {
      const refused = await one.heddle(words, ci);
      const name = ['heddle', ...words.slice(0, 1)].join(' ');
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringContaining(`USAGE_INVALID: \`${name}\` cannot run as the API key in HEDDLE_KEY.`),
      ]);
    }
    expect(await one.heddle(['version'], ci)).toMatchObject({ code: 0 });
    expect(await one.heddle(['audit', '--help'], ci)).toMatchObject({ code: 0 });
  });

  verifies('G2', 'approves its own call with --yes only if the key may approve it', async () => {
    const one = shop({ permissions: { ask: ['mcp__notes'] } });
    await one.up();
    const words = ['call', 'notes.write', 'text=a', '--yes'];
    const pending = await one.heddle(words, await keyOf(one, 'ci'));
    expect([pending.code, pending.stderr]).toEqual([6, expect.stringContaining('APPROVAL_PENDING')]);
    const desk = await keyOf(one, 'desk', '--role', 'user', '--role', 'approver');
    expect(await one.heddle(words, desk)).toMatchObject({ code: 0, stderr: '' });
    const { stdout } = await one.heddle(['audit', 'search', 'caller=key:desk', '--json']);
    expect(JSON.parse(stdout)).toContainEqual(
      expect.objectContaining({ detail: expect.objectContaining({ decision: 'self-approved' }) }),
    );
  });

  verifies('L1', 'starts and shows runs of workflows as the key', async () => {
    const note = 'heddle: 1\nsteps:\n  - { id: write, tool: notes.write, input: { text: hi } }\n';
    const one = workflowProject({ workflows: { note } });
    await one.up();
    const ci = await keyOf(one, 'ci');
    expect(await one.heddle(['run', 'note'], ci)).toMatchObject({ code: 0 });
    expect(one.calls()).toEqual(['{"text":"hi"}']);
    expect(await callersOf(one, 'mcp__notes__write')).toEqual(['key:ci']);
    const [run] = JSON.parse((await one.heddle(['runs', 'list', '--all', '--json'], ci)).stdout);
    expect(await one.heddle(['runs', 'show', run.id], ci)).toMatchObject({ code: 0 });
    const other = await keyOf(one, 'other');
    expect((await one.heddle(['runs', 'show', run.id], other)).stderr).toContain('There is no run');
  });
});
