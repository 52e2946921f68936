import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { project, SERVERS } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const PID = { command: process.execPath, args: [join(SERVERS, 'pid-server.mjs')] };

verifies('G2', 'tells a user who declines a call that it was not made, and not how to approve', async () => {
  const approving = project({ 'heddle.json': { mcpServers: { demo: PID }, permissions: { ask: ['mcp__demo'] } } });
  const { type, ended, screen } = await terminal(approving, ['call', 'demo.who']);
  await type('Run it? [y/N]', 'n');
  expect(await ended()).toBe(5);
  expect(screen()).toContain('You said no, so demo.who was not called.');
  expect(screen()).not.toContain('--yes');
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
