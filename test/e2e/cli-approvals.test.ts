import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';
import { type Project, project, SERVERS } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const COUNTING = join(SERVERS, 'noting-server.mjs');
const WIDE = { rows: 60, cols: 200 };

/** A project whose server `notes` appends the arguments of each call to the file `calls`. */
function asking(approvals: object = {}): Project {
  const one = project({ calls: '', 'heddle.json': {} });
  const notes = { command: process.execPath, args: [COUNTING, join(one.folder, 'calls')] };
  const config = { mcpServers: { notes }, permissions: { ask: ['mcp__notes__write'] }, approvals };
  writeFileSync(join(one.folder, 'heddle.json'), JSON.stringify(config));
  return one;
}

const callsOf = ({ folder }: Project) => readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n').filter(Boolean);
const WRITE = ['call', 'notes.write', 'text=hi', 'path=reports/a'] as const;
const idIn = (text: string) => /ap_[a-z0-9]{16}/.exec(text)?.[0] ?? 'no id';

/** Makes an API key and returns the environment with it. */
async function keyOf({ heddle }: Project, name: string, role: string) {
  const { stdout } = await heddle(['key', 'create', name, '--role', role]);
  return { HEDDLE_KEY: stdout.trim() };
}

/** Calls without a terminal and returns the id of the approval. */
async function request({ heddle }: Project, words: readonly string[] = WRITE): Promise<string> {
  const { code, stdout, stderr } = await heddle(words);
  expect([code, stdout, stderr]).toEqual([6, '', expect.stringContaining('APPROVAL_PENDING')]);
  return idIn(stderr);
}

describe('a call that needs an approval, without a terminal', () => {
  verifies('G2', 'exits with 6 and prints the id; nothing runs, and the approval stays pending', async () => {
    const one = asking();
    const id = await request(one);
    expect(await request(one)).toBe(id);
    expect(callsOf(one)).toEqual([]);
    const { stdout, stderr } = await one.heddle(['approvals']);
    expect(stdout).toContain(`{"text":"hi","path":"reports/a"}`);
    expect(stderr).toBe('');
    expect(stdout).toMatch(new RegExp(`^${id} +pending +\\d+ min \\d+ s +mcp__notes__write +`, 'm'));
    expect(JSON.parse((await one.heddle(['approvals', 'list', '--json'])).stdout)).toMatchObject([
      { id, status: 'pending', subject: { name: 'mcp__notes__write', arguments: { text: 'hi', path: 'reports/a' } } },
    ]);
    const newest = await request(one, ['call', 'notes.write', 'text=other']);
    const page = await one.heddle(['approvals', 'list', '--limit', '1', '--json']);
    expect(JSON.parse(page.stdout)).toMatchObject([{ id: newest }]);
    const [, cursor = ''] = /newest 1 of 2\. List the next with --cursor (\S+)\.$/m.exec(page.stderr) ?? [];
    const rest = await one.heddle(['approvals', 'list', '--cursor', cursor, '--json']);
    expect([JSON.parse(rest.stdout), rest.stderr]).toMatchObject([[{ id }], '']);
    const broken = await one.heddle(['approvals', 'list', '--cursor', 'x']);
    expect([broken.code, broken.stderr]).toEqual([2, expect.stringContaining('The cursor is not one of a list')]);
  });

  verifies('G2', 'cannot be approved without a terminal or the key of an approver', async () => {
    const one = asking();
    const id = await request(one);
    const bare = await one.heddle(['approvals', 'approve', id]);
    expect([bare.code, bare.stderr]).toEqual([5, expect.stringContaining('needs a terminal or the API key')]);
    const user = await one.heddle(['approvals', 'approve', id], { env: await keyOf(one, 'ci', 'user') });
    expect([user.code, user.stderr]).toEqual([
      5,
      expect.stringContaining('key:ci has the role user and may not decide'),
    ]);
    const forged = await one.heddle(['approvals', 'approve', id], { env: { HEDDLE_KEY: 'hk_forged' } });
    expect([forged.code, forged.stderr]).toEqual([5, expect.stringContaining('The API key is unknown or revoked.')]);
    expect(forged.stderr).not.toContain('hk_forged');
    expect(callsOf(one)).toEqual([]);
    expect((await one.heddle(WRITE)).code).toBe(6);
  });

  verifies('G7', 'runs once after an approver has approved it with a key, and then needs a new approval', async () => {
    const one = asking();
    const id = await request(one);
    const env = await keyOf(one, 'ops', 'approver');
    const approved = await one.heddle(['approvals', 'approve', id.slice(0, 8), '--note', 'Fine.'], { env });
    expect(approved).toMatchObject({ code: 0, stderr: '' });
    expect(approved.stdout).toBe(`Approved ${id}: the same call of mcp__notes__write runs once.\n`);
    expect(await one.heddle(WRITE)).toMatchObject({ code: 0, stdout: 'written\n' });
    expect(callsOf(one)).toHaveLength(1);
    expect(await request(one)).not.toBe(id);
    const shown = (await one.heddle(['approvals', 'show', id])).stdout;
    expect(shown).toMatch(/^status +used by the call /m);
    expect(shown).toMatch(/^decision +approved by key:ops \(cli\) at .*: Fine\.$/m);
    expect(shown).toContain('arguments, without sensitive values');
  });

  verifies('G7', 'gets the note of a rejection, and a settled approval names its decider', async () => {
    const one = asking();
    const id = await request(one);
    const bare = await one.heddle(['approvals', 'reject', id]);
    expect([bare.code, bare.stderr]).toEqual([2, expect.stringContaining('A rejection needs a note')]);
    const rejected = await one.heddle(['approvals', 'reject', id, '--note', 'Not \u001b[2Jtoday.']);
    expect(rejected).toMatchObject({ code: 0, stdout: `Rejected ${id}: mcp__notes__write does not run.\n` });
    const again = await one.heddle(WRITE);
    expect([again.code, again.stderr]).toEqual([5, expect.stringContaining(String.raw`Not \u{001b}[2Jtoday.`)]);
    const late = await one.heddle(['approvals', 'approve', id], { env: await keyOf(one, 'ops', 'approver') });
    expect([late.code, late.stderr]).toEqual([2, expect.stringContaining('APPROVAL_SETTLED')]);
    expect(late.stderr).toContain('local:');
    expect(callsOf(one)).toEqual([]);
  });
});

verifies('G7', '`up` names a new approval once, with the command that shows and decides it', async () => {
  const one = asking();
  const gateway = await one.up();
  const id = await request(one);
  await request(one);
  const message = `mcp__notes__write, requested by local:`;
  await until('the approval is named', () => gateway.stderr().includes(message));
  expect(gateway.stderr()).toContain(`waits for the approval ${id}.\n  fix: Run \`heddle approvals approve ${id}\`.\n`);
  await gateway.stop();
  expect(gateway.stderr().split(message)).toHaveLength(2);
});

describe('`heddle call --wait-approval`', () => {
  for (const where of ['in this process', 'through a running gateway']) {
    verifies('G7', `waits for the decision of another process, ${where}`, async () => {
      const one = asking();
      if (where !== 'in this process') await one.up();
      const env = await keyOf(one, 'ops', 'approver');
      const outcome = await one.heddle([...WRITE, '--wait-approval', '10m'], {
        async meanwhile(child) {
          let stderr = '';
          child.stderr?.on('data', (chunk) => (stderr += chunk));
          await until('the call waits', () => stderr.includes('waits for the approval ap_'));
          const approved = await one.heddle(['approvals', 'approve', idIn(stderr)], { env });
          expect([approved.code, approved.stderr]).toEqual([0, '']);
        },
      });
      expect(outcome).toMatchObject({ code: 0, stdout: 'written\n' });
      expect(callsOf(one)).toHaveLength(1);
    });
  }

  verifies('L4', 'exits with 6 when the time is over, and the approval stays pending', async () => {
    const one = asking();
    const { code, stderr } = await one.heddle([...WRITE, '--wait-approval', '0s']);
    expect([code, stderr]).toEqual([6, expect.stringContaining('APPROVAL_PENDING')]);
    const waited = await one.heddle(['approvals', 'wait', idIn(stderr), '--timeout', '0s']);
    expect(waited).toMatchObject({ code: 6, stdout: `${idIn(stderr)} is pending.\n` });
    const wrong = await one.heddle([...WRITE, '--wait-approval', 'soon']);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('--wait-approval has to be a duration')]);
  });
});

verifies('L4', '`approvals wait` ends with the decision: 0 if approved, 5 if rejected', async () => {
  const one = asking();
  const env = await keyOf(one, 'ops', 'approver');
  const id = await request(one);
  const waiting = one.heddle(['approvals', 'wait', id]);
  await one.heddle(['approvals', 'approve', id], { env });
  expect(await waiting).toMatchObject({ code: 0, stdout: `${id} is approved.\n` });
  const other = await request(one, ['call', 'notes.write', 'text=other']);
  await one.heddle(['approvals', 'reject', other, '--note', 'No.'], { env });
  expect(await one.heddle(['approvals', 'wait', other])).toMatchObject({
    code: 5,
    stdout: `${other} is rejected.\n`,
    stderr: expect.stringContaining('key:ops rejected the call'),
  });
});

describe('at a terminal', () => {
  verifies('G6', 'the whole approval is shown before the user decides, with escaped arguments', async () => {
    const one = asking();
    const { type, ended, screen } = await terminal(one, ['call', 'notes.write', 'text=a\u001b[2J\u202eb'], WIDE);
    await type('Run it? [y/', 'y');
    expect(await ended()).toBe(0);
    const shown = screen();
    expect(shown).toContain(String.raw`"text": "a\u001b[2J\u202eb"`);
    for (const row of [
      /^tool +mcp__notes__write$/m,
      /^about +Writes a note\.$/m,
      /^server +notes \(.*heddle\.json:1\)$/m,
      /^risk +medium$/m,
      /^requested +by local:\S+ \(cli\) at /m,
      /^rule +permissions\.ask: mcp__notes__write$/m,
      /^status +pending, \d+ min \d+ s left$/m,
    ])
      expect(shown).toMatch(row);
    expect(callsOf(one)).toHaveLength(1);
    const { stdout } = await one.heddle(['approvals', 'list', '--status', 'all', '--json']);
    expect(JSON.parse(stdout)).toMatchObject([{ status: 'used' }]);
  });

  verifies('G6', 'a no rejects the approval, and leaving the prompt does not', async () => {
    const one = asking();
    const left = await terminal(one, WRITE);
    await left.type('Run it? [y/', '\x03');
    expect(await left.ended()).toBe(130);
    const id = await request(one);
    const declined = await terminal(one, WRITE);
    await declined.type('Run it? [y/', 'n');
    expect(await declined.ended()).toBe(5);
    expect((await one.heddle(['approvals', 'show', id])).stdout).toMatch(/^status +rejected at /m);
    expect((await one.heddle(WRITE)).stderr).toContain('The user said no at the terminal.');
    expect(callsOf(one)).toEqual([]);
  });

  verifies('G6', 'a signal ends the command at the prompt, and the approval stays pending', async () => {
    const one = asking();
    const { ended, interrupt, screen } = await terminal(one, WRITE, WIDE);
    await until('the user is asked', () => screen().includes('Run it? [y/'));
    interrupt('SIGTERM');
    expect(await ended()).toBe(130);
    expect(JSON.parse((await one.heddle(['approvals', '--json'])).stdout)).toMatchObject([{ status: 'pending' }]);
  });

  verifies('G2', 'a user decides on the call of another', async () => {
    const one = asking();
    const id = await request(one);
    const no = await terminal(one, ['approvals', 'approve', id], WIDE);
    await no.type('Approve it? [y/', '');
    expect(await no.ended()).toBe(130);
    expect(no.screen()).toContain(`${id} stays pending.`);
    const yes = await terminal(one, ['approvals', 'approve', id], WIDE);
    await yes.type('Approve it? [y/', 'y');
    expect(await yes.ended()).toBe(0);
    expect(yes.screen()).toContain('"text": "hi"');
    expect((await one.heddle(WRITE)).code).toBe(0);
    const other = await request(one, ['call', 'notes.write', 'text=other']);
    const why = await terminal(one, ['approvals', 'reject', other], WIDE);
    await why.type('Why? The requester gets this note:', 'Too late.');
    expect(await why.ended()).toBe(0);
    expect((await one.heddle(['approvals', 'show', other])).stdout).toContain('Too late.');
  });

  verifies('G6', 'the requester is not asked if a rule excludes the requester, also with --yes', async () => {
    const rule = { name: 'four eyes', stages: [{ approvers: ['role:approver'], need: 1 }], notRequester: true };
    const one = asking({ rules: [rule] });
    await keyOf(one, 'ops', 'approver'); // Without an approver the call would be refused at once.
    const { ended, screen } = await terminal(one, [...WRITE, '--yes'], WIDE);
    expect(await ended()).toBe(6);
    expect(screen()).not.toContain('Run it?');
    expect(screen()).toMatch(/Ask role:approver to run `heddle approvals approve ap_\w+` in a terminal/);
    expect(callsOf(one)).toEqual([]);
  });
});

describe('standing approvals', () => {
  verifies('G6', 'settle later calls with matching arguments, until they are used up or revoked', async () => {
    const one = asking();
    const env = await keyOf(one, 'ops', 'approver');
    const id = await request(one);
    const options = ['--always', '--uses', '5', '--until', '8h', '--argument', 'path=reports/*'];
    const always = await one.heddle(['approvals', 'approve', id, ...options], { env });
    expect(always.code).toBe(0);
    expect((await one.heddle(WRITE)).code).toBe(0);
    for (const path of ['reports/deep/b', '../reports/b', 'reports/..']) {
      await request(one, ['call', 'notes.write', 'text=hi', `path=${path}`]);
    }
    expect((await one.heddle(['call', 'notes.write', 'text=new', 'path=reports/b'])).code).toBe(0);
    const [standing] = JSON.parse((await one.heddle(['approvals', 'standing', 'list', '--json'])).stdout);
    expect(standing).toMatchObject({
      tool: 'mcp__notes__write',
      arguments: { path: 'reports/*' },
      approvedBy: 'key:ops',
    });
    expect((await one.heddle(['approvals', 'standing'])).stdout).toMatch(/path=reports\/\* +\d{4}-/);
    const revoked = await one.heddle(['approvals', 'standing', 'revoke', standing.id, 'st_none'], { env });
    expect(revoked).toMatchObject({ code: 2, stdout: `The standing approval ${standing.id} is revoked.\n` });
    expect(revoked.stderr).toContain('There is no stored standing approval st_none.');
    await request(one, ['call', 'notes.write', 'text=newer', 'path=reports/c']);
    expect((await one.heddle(['approvals', 'standing', 'list'])).stderr).toBe('There is no standing approval.\n');
  });
});

it.each([
  [['approve'], 2, '`heddle approvals approve` takes one id.'],
  [['aprove', 'ap_1'], 2, 'Did you mean `heddle approvals approve`?'],
  [['show', 'ap_zzzz'], 2, 'NAME_UNKNOWN'],
  [['list', '--status', 'open'], 2, 'There is no status open'],
  [['list', 'ap_1'], 2, 'takes no id'],
  [['approve', 'ap_1', '--until', '8h'], 2, 'Add --always, or leave them out.'],
  [['approve', 'ap_1', '--always', '--uses', '0'], 2, '--uses has to be at least 1.'],
  [['approve', 'ap_1', '--always', '--argument', 'path'], 2, 'Write for example --argument path=reports/*.'],
  [['approve', 'ap_1', '--always=mcp__other'], 2, 'USAGE_INVALID'],
  [['standing', 'revoke'], 2, '`standing revoke ID …`'],
  [['standing', 'revoke', 'st_none'], 2, 'NAME_UNKNOWN'],
  [['approve', 'ap_1', '--key', 'none.txt'], 2, 'none.txt cannot be read'],
])('L5: `approvals %s` exits with %i and says %j', async (words, code, says) => {
  const outcome = await project().heddle(['approvals', ...words]);
  expect([outcome.code, outcome.stdout]).toEqual([code, '']);
  expect(outcome.stderr).toContain(says);
});

verifies('L1', 'the shell completes the verbs and the ids of pending approvals', async () => {
  const one = asking();
  const id = await request(one);
  expect((await one.heddle(['__complete', 'approvals', ''])).stdout).toContain('standing\n');
  expect((await one.heddle(['__complete', 'approvals', 'approve', 'ap_'])).stdout).toBe(`${id}\n`);
});
