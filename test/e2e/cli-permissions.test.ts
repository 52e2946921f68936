import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';
import { project, SERVERS } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const RISKY = { command: process.execPath, args: [join(SERVERS, 'risky-tools.mjs')] };
const WIDE = { rows: 40, cols: 200 };
const risky = (more: object = {}) =>
  project({ 'heddle.json': JSON.stringify({ mcpServers: { browser: RISKY }, ...more }, null, 2) });

verifies('L1', 'the command that `doctor` suggests allows all tools of a server, and the call runs', async () => {
  const { heddle, home } = risky();
  const before = await heddle(['doctor', 'browser']);
  const [, suggested = ''] =
    /3 of 4 tools of browser ask for approval\.\n {2}fix: `heddle (.*)` allows them, destructive/.exec(before.stdout) ??
    [];
  expect(suggested).toBe('permissions allow mcp__browser');
  expect((await heddle(['call', 'browser.click'])).code).toBe(6);

  const allowed = await heddle(suggested.split(' '));
  expect(allowed).toMatchObject({ code: 0, stdout: `Allowed mcp__browser in ${join(home, 'heddle.json')} (user).\n` });
  expect(allowed.stderr).toBe('No tool of browser asks for approval.\n');
  expect(await heddle(['call', 'browser.click'])).toMatchObject({ code: 0, stdout: 'click was called\n' });
  expect((await heddle(['doctor', 'browser'])).stdout).not.toContain('ask for approval');
});

verifies('G3', 'doctor reports rules that match no server and no tool, with the nearest name', async () => {
  const policy = { name: 'typo', effect: 'deny', tools: ['mcp__browsr'], reason: 'x' };
  const { heddle } = risky({ permissions: { deny: ['mcp__browser__clik'] }, policies: [policy] });
  await heddle(['list', 'tools']);
  const { stdout } = await heddle(['doctor']);
  expect(stdout).toContain(
    'In the policy typo: The rule mcp__browsr matches no server that is configured. Did you mean mcp__browser?',
  );
  expect(stdout).toContain('Did you mean mcp__browser__click?');
});

verifies('G2', '`permissions rules` lists the rules in force with their files and lines', async () => {
  const more = {
    permissions: { ask: ['mcp__browser__type', 'mcp__browser__close'] },
    profiles: { support: { permissions: { deny: ['mcp__browser__click'] } } },
  };
  const { heddle, folder } = risky(more);
  await heddle(['permissions', 'allow', 'mcp__browser']);
  const { stdout, stderr } = await heddle(['permissions', 'rules']);
  const file = join(folder, 'heddle.json');
  const line = lineOf(file);
  expect(stdout).toMatch(
    new RegExp(`^ask +mcp__browser__close +permissions.ask +project ${file}:${line('__close')}$`, 'm'),
  );
  expect(stdout).toMatch(/^allow +mcp__browser +permissions.allow +user .*heddle.json:\d+$/m);
  expect(stdout).toMatch(
    new RegExp(
      `^deny +mcp__browser__click +profiles.support.permissions.deny +project ${file}:${line('__click')}$`,
      'm',
    ),
  );
  expect(stderr).toContain('mode guarded decides');

  const json = JSON.parse((await heddle(['permissions', 'rules', '--json'])).stdout);
  expect(json).toMatchObject({ mode: 'guarded' });
  expect(json.rules).toContainEqual(
    expect.objectContaining({
      effect: 'ask',
      rule: 'mcp__browser__type',
      scope: 'project',
      file,
      line: line('__type'),
    }),
  );
});

const lineOf = (file: string) => {
  const lines = readFileSync(file, 'utf8').split('\n');
  return (text: string) => lines.findIndex((line) => line.includes(text)) + 1;
};

verifies('G2', '`permissions` prints tool, effect, rule, file and line for a caller and its profile', async () => {
  const more = {
    permissions: { deny: ['mcp__browser__close'] },
    profiles: { support: { permissions: { ask: ['mcp__browser__type'] } } },
    gateway: { apiKeys: [{ name: 'ci', sha256: 'a'.repeat(64), profile: 'support' }] },
  };
  const { heddle, folder } = risky(more);
  await heddle(['list', 'tools']);
  const file = join(folder, 'heddle.json');
  const line = lineOf(file);
  const own = (await heddle(['permissions'])).stdout;
  expect(own).toMatch(
    new RegExp(`^mcp__browser__close +deny +permissions.deny: mcp__browser__close +${file} +${line('__close')}$`, 'm'),
  );
  expect(own).toMatch(/^mcp__browser__click +ask +mode guarded +- +-$/m);

  const { stdout } = await heddle(['permissions', '--caller', 'key:ci', '--json']);
  const { permissions } = JSON.parse(stdout);
  expect(permissions).toContainEqual(
    expect.objectContaining({
      name: 'mcp__browser__type',
      effect: 'ask',
      rule: 'profiles.support.permissions.ask: mcp__browser__type',
      at: { file, line: line('__type') },
    }),
  );
  expect(await heddle(['permissions', '--caller', 'key:cj'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('There is no caller key:cj.\n  fix: Did you mean key:ci?'),
  });
  expect((await heddle(['permissions', '--profile', 'suport'])).stderr).toContain('Did you mean support?');
});

verifies('G2', 'does not write a rule that a stronger one overrides, and names that rule', async () => {
  const { heddle, folder, home } = risky({ permissions: { deny: ['mcp__browser'], ask: ['mcp__mail__send'] } });
  const file = join(folder, 'heddle.json');
  const line = lineOf(file);
  const refused = await heddle(['permissions', 'allow', 'mcp__browser__click']);
  expect(refused).toMatchObject({ code: 3, stdout: '' });
  expect(refused.stderr).toContain(
    `allow mcp__browser__click was not written, because it would have no effect: permissions.deny: mcp__browser (${file}:${line('"mcp__browser"')}) is stronger.`,
  );
  expect(refused.stderr).toContain('fix: Remove that first: `heddle permissions forget mcp__browser`.');
  expect((await heddle(['permissions', 'ask', 'mcp__browser'])).code).toBe(3);
  expect((await heddle(['permissions', 'allow', 'mcp__mail__send'])).stderr).toContain(
    'permissions.ask: mcp__mail__send',
  );
  expect(existsSync(join(home, 'heddle.json'))).toBe(false);

  // The list of the same file loses the rule, so it is not stronger.
  expect((await heddle(['permissions', 'allow', 'mcp__browser', '--scope', 'project'])).code).toBe(0);
  expect((await heddle(['permissions', 'ask', 'mcp__filesystem__fs_read_file'])).code).toBe(0);
  expect((await heddle(['call', 'filesystem.fs_read_file', 'path=heddle.json'])).code).toBe(6);
});

verifies('G2', '`permissions mode` sets the mode, unless a file of higher precedence does', async () => {
  const { heddle, folder, home } = risky();
  expect(await heddle(['permissions', 'mode', 'open'])).toMatchObject({
    code: 0,
    stdout: `Set mode open in ${join(home, 'heddle.json')} (user).\n`,
  });
  expect(await heddle(['call', 'browser.click'])).toMatchObject({ code: 0 });
  expect((await heddle(['permissions', 'mode', 'strict', '--scope', 'project'])).code).toBe(0);
  expect(JSON.parse(readFileSync(join(folder, 'heddle.json'), 'utf8'))).toMatchObject({ mode: 'strict' });
  const refused = await heddle(['permissions', 'mode', 'guarded']);
  expect(refused.code).toBe(3);
  expect(refused.stderr).toContain(`\`mode\` in ${join(folder, 'heddle.json')}:`);
  expect((await heddle(['permissions', 'mode', 'strct'])).stderr).toContain('Did you mean strict?');
});

it('writes into the file of a scope, keeps its comments, and needs no new trust', async () => {
  const text = `{ // ours\n  "mcpServers": { "browser": ${JSON.stringify(RISKY)} },\n  "permissions": { "ask": ["mcp__browser"] }\n}\n`;
  const { heddle, folder } = project({ 'heddle.json': text });
  const file = join(folder, 'heddle.json');
  const dry = await heddle(['permissions', 'allow', 'mcp__browser', '--scope', 'project', '--dry-run']);
  expect(dry.stdout).toContain('+  "permissions": { "ask": [], "allow": ["mcp__browser"] }');
  expect(readFileSync(file, 'utf8')).toBe(text);

  expect((await heddle(['permissions', 'allow', 'mcp__browser', '--scope', 'project'])).code).toBe(0);
  expect(readFileSync(file, 'utf8')).toContain('{ // ours\n');
  expect(await heddle(['call', 'browser.click'])).toMatchObject({ code: 0, stderr: '' });
  expect((await heddle(['permissions', 'forget', 'mcp__browser'])).stdout).toBe(
    `Removed mcp__browser from ${file} (project).\n`,
  );
  expect((await heddle(['call', 'browser.click'])).code).toBe(6);
});

verifies('C11', 'a rule that allows does not make the other settings of an untrusted project trusted', async () => {
  const foreign = { mcpServers: { browser: RISKY }, mode: 'open' };
  const { heddle } = project({ 'heddle.json': foreign }, { trusted: false });
  const { code, stderr } = await heddle(['permissions', 'allow', 'mcp__browser', '--scope', 'project']);
  expect(code).toBe(0);
  expect(stderr).toContain('are untrusted, so its rules that allow are not in force. Run `heddle trust`.');
  expect(JSON.parse((await heddle(['permissions', 'rules', '--json'])).stdout)).toMatchObject({
    mode: 'guarded',
    rules: [],
  });
});

it('edits the file of --config, and suggests the command for that file', async () => {
  const { heddle, folder } = project({ 'other.json': { mcpServers: { browser: RISKY } } });
  const { stdout } = await heddle(['doctor', 'browser', '--config', 'other.json']);
  const [, suggested = ''] = /`heddle (permissions [^`]*)`/.exec(stdout) ?? [];
  expect((await heddle(suggested.split(' '))).stdout).toContain(join(folder, 'other.json'));
  expect(await heddle(['call', 'browser.click', '--config', 'other.json'])).toMatchObject({ code: 0 });
});

it('names the stricter rule that the suggested command would not lift', async () => {
  const { heddle } = risky({ permissions: { ask: ['mcp__browser__click'] } });
  const { stdout } = await heddle(['doctor', 'browser']);
  expect(stdout).toContain(
    '3 of 4 tools of browser ask for approval, 1 of them by permissions.ask: mcp__browser__click.\n  fix: `heddle permissions allow mcp__browser` allows the other 2, destructive and high-risk ones included; `heddle permissions` shows',
  );
  const { stderr } = await heddle(['permissions', 'allow', 'mcp__browser']);
  expect(stderr).toContain('1 of 4 tools of browser asks for approval by permissions.ask: mcp__browser__click.');
});

it.each([
  [['allow', 'browser'], 2, 'browser is not a rule.\n  fix: Did you mean `mcp__browser`?'],
  [['allow', 'browser.click'], 2, 'Did you mean `mcp__browser__click`?'],
  [['allow', 'mcp__*'], 2, 'mcp__* is not a rule.\n  fix: A rule is `mcp__server`'],
  [['allow', 'mcp__browser__c*'], 2, 'mcp__browser__c* is not a rule.'],
  [['deny', 'mcp__browsr'], 0, 'The rule mcp__browsr matches no server that is configured. Did you mean mcp__browser?'],
  [['ask', 'mcp__browser__clik'], 0, 'matches no tool of browser that is known. Did you mean mcp__browser__click?'],
  [['deny', 'file:///etc/passwd'], 0, ''],
  [['forget', 'mcp__browser'], 2, 'There is no rule mcp__browser.'],
  [['alow', 'mcp__browser'], 2, 'Did you mean `heddle permissions allow`?'],
  [['deny'], 2, 'No rule was given.'],
])('`permissions %s` exits with %i and says %j', async (words, code, says) => {
  const { heddle } = risky();
  await heddle(['list', 'tools']);
  const outcome = await heddle(['permissions', ...words]);
  expect(outcome.code).toBe(code);
  expect(outcome.stderr).toContain(says);
  if (says === '') expect(outcome.stderr).toBe('');
});

it('names a file that is not valid JSON, and does not change it', async () => {
  const { heddle, home } = risky();
  await heddle(['permissions', 'allow', 'mcp__browser']);
  const file = join(home, 'heddle.json');
  writeFileSync(file, '{ "permissions": ');
  const { code, stderr } = await heddle(['permissions', 'deny', 'mcp__browser']);
  expect(code).toBe(3);
  expect(stderr).toContain(`${file}:1:`);
  expect(readFileSync(file, 'utf8')).toBe('{ "permissions": ');
});

const ASKS =
  '3 of 4 tools of browser ask for approval.\n  fix: `heddle permissions allow mcp__browser` allows them, destructive and high-risk ones included.\n';
const node = [process.execPath, join(SERVERS, 'risky-tools.mjs')];

verifies(
  'G6',
  '`add` on a terminal connects the server and says how many tools ask; in a pipe with --check',
  async () => {
    const added = await terminal(project(), ['add', 'browser', '--', ...node], WIDE);
    expect(await added.ended()).toBe(0);
    expect(added.screen()).toContain('browser is connected and has 4 tools.\n');
    expect(added.screen()).toContain(ASKS);

    const piped = project();
    expect((await piped.heddle(['add', 'first', '--', ...node])).stderr).toBe('');
    const checked = await piped.heddle(['add', 'browser', '--check', '--', ...node]);
    expect(checked.stderr).toContain(ASKS);
    expect(checked.stdout).toMatch(/^Added browser to .*\n$/);
  },
);

verifies('G6', '`add` keeps a server that cannot be started, and says why', async () => {
  const { heddle } = project();
  const { code, stderr } = await heddle(['add', 'browser', '--check', '--', 'no-such-program']);
  expect(code).toBe(0);
  expect(stderr).toMatch(/browser failed: .*no-such-program.*\n {2}fix: /);
  expect((await heddle(['get', 'browser'])).code).toBe(0);
});

verifies('G6', '`import --write` says how many tools ask', async () => {
  const { heddle, folder } = project({ '.cursor/mcp.json': { mcpServers: { browser: RISKY } } });
  const file = join(folder, '.cursor/mcp.json');
  const imported = await heddle(['import', 'cursor', '--write', '--check', '--scope', 'user', '--file', file]);
  expect(imported.stderr).toContain(ASKS);
});

verifies('G6', '`up` says how many tools ask: of a known server at once, of others when they connect', async () => {
  const fresh = risky();
  const up = await terminal(fresh, ['up', '--port', '0'], WIDE);
  await until('the gateway is up', () => up.screen().includes('Ctrl-C stops it.'));
  expect(up.screen()).not.toContain('for approval');
  const [, url = ''] = /MCP endpoint +(\S+)/.exec(up.screen()) ?? [];
  const [, token = ''] = /Token +(\S+)/.exec(up.screen()) ?? [];
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  await fetch(url, { method: 'POST', headers, body: JSON.stringify(list) }).then((response) => response.text());
  await until('the approvals are counted', () => up.screen().includes(ASKS));

  const known = risky();
  await known.heddle(['list', 'tools']);
  const again = await terminal(known, ['up', '--port', '0'], WIDE);
  await until('the approvals are counted', () => again.screen().includes(ASKS));
  const quiet = await known.up();
  expect(quiet.stderr()).not.toContain('for approval');
});

verifies(
  'L4',
  '`up --json` says on stderr which server failed and why, once, and one line of JSON on stdout',
  async () => {
    const { up } = project({ 'heddle.json': { mcpServers: { gone: { command: 'no-such-program' } } } });
    const gateway = await up();
    const headers = { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    for (let n = 0; n < 2; n++)
      await fetch(gateway.url, { method: 'POST', headers, body }).then((reply) => reply.text());
    await until('the failure is printed', () => /gone failed: .*no-such-program.*\n {2}fix: /.test(gateway.stderr()));
    await gateway.stop();
    expect(gateway.stderr().match(/gone failed/g)).toHaveLength(1);
  },
);
