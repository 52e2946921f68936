import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { project, SERVERS } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const WIDE = { rows: 60, cols: 200 };
const PID = { command: process.execPath, args: [join(SERVERS, 'pid-server.mjs')] };

verifies('G2', 'tells a user who declines a call that it was not made, and not how to approve', async () => {
  const approving = project({ 'heddle.json': { mcpServers: { demo: PID }, permissions: { ask: ['mcp__demo'] } } });
  const { type, ended, screen } = await terminal(approving, ['call', 'demo.who']);
  await type('Run it? [y/', 'n');
  expect(await ended()).toBe(5);
  expect(screen()).toContain('You said no, so demo.who was not called.');
  expect(screen()).not.toContain('--yes');
});

verifies('G6', 'lets the user also approve later calls with the same arguments, or of the tool, for 8 h', async () => {
  const one = project({ calls: '', 'heddle.json': {} });
  const notes = { command: process.execPath, args: [join(SERVERS, 'noting-server.mjs'), join(one.folder, 'calls')] };
  const config = { mcpServers: { notes }, permissions: { ask: ['mcp__notes__write'] } };
  writeFileSync(join(one.folder, 'heddle.json'), JSON.stringify(config));
  const write = (text: string) => ['call', 'notes.write', `text=${text}`];
  const first = await terminal(one, write('hi'), WIDE);
  await first.type('Run it? [y/a/t/N]', 'a');
  expect(await first.ended()).toBe(0);
  expect(first.screen()).toMatch(/^ {2}a {2}this tool with these arguments, for 8 h$/m);
  expect((await one.heddle(write('hi'))).code).toBe(0);

  const [id = ''] = /ap_[a-z0-9]{16}/.exec((await one.heddle(write('other'))).stderr) ?? [];
  const approves = await terminal(one, ['approvals', 'approve', id], WIDE);
  await approves.type('Approve it? [y/a/t/N]', 't');
  expect(await approves.ended()).toBe(0);
  for (const text of ['other', 'third']) expect((await one.heddle(write(text))).code).toBe(0);

  const [exact, whole] = JSON.parse((await one.heddle(['approvals', 'standing', '--json'])).stdout);
  expect(exact).toMatchObject({ exactly: { text: 'hi' }, expiresAt: exact.createdAt + 28_800_000 });
  expect(whole).toMatchObject({ arguments: {}, expiresAt: whole.createdAt + 28_800_000 });
  expect((await one.heddle(['approvals', 'standing'])).stdout).toContain('exactly {"text":"hi"}');
});

verifies('C11', 'does not suggest trusting to a user who has declined', async () => {
  const strange = project({ 'heddle.json': { mcpServers: { demo: PID } } }, { trusted: false });
  const { type, ended, screen } = await terminal(strange, ['trust']);
  await type('Trust all of this? [y/N]', '');
  expect(await ended()).toBe(3);
  expect(screen()).toMatch(/\[y\/N\] \n+Nothing was trusted\.\n$/);
});

it('does not ask for the value of a secret that cannot have its name', async () => {
  const { ended, screen } = await terminal(project(), ['secret', 'set', 'bad name']);
  expect(await ended()).toBe(2);
  expect(screen()).not.toContain('Value of');
  expect(screen()).toContain('"bad name" cannot be the name of a secret.');
});

it('shows the prompt for a secret only once the terminal does not echo', async () => {
  const own = project();
  const slow = { ...own, env: { ...own.env, NODE_OPTIONS: `--import ${join(SERVERS, 'pause-after-prompt.mjs')}` } };
  const { type, ended, screen } = await terminal(slow, ['secret', 'set', 'key']);
  await type('Value of key:', 'typed-at-once');
  expect(await ended()).toBe(0);
  expect(screen()).not.toContain('typed-at-once');
});
