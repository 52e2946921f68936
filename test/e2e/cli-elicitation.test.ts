import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';
import { project, SERVERS } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const ELICITING = { command: process.execPath, args: [join(SERVERS, 'eliciting-server.ts')] };
const elicitingProject = () => project({ 'heddle.json': { mcpServers: { demo: ELICITING } } });

verifies('T10', 'prompts for each field of a form until its value is valid', async () => {
  const { type, ended, screen } = await terminal(elicitingProject(), ['call', 'demo.book']);
  await type('Answer? [Y]es, [n]o, [c]ancel:', '');
  await type('Your name (text, at least 2 characters):', 'A');
  await type('That does not fit: Your name has to have at least 2 characters.', 'Ann');
  await type('seats (whole number, at least 1, at most 9) [2]:', 'ten');
  await type('seats (whole number, at least 1, at most 9) [2]:', '');
  await type('class (1 to 2):', '2');
  await type('meal (yes or no, may be left empty):', 'y');
  expect(await ended()).toBe(0);
  expect(screen()).toContain('demo asks:\n  | Who is travelling?');
  expect(screen()).toContain('  1  first\n  2  second');
  expect(screen()).toContain('{"action":"accept","content":{"name":"Ann","seats":2,"class":"second","meal":true}}');
});

verifies('T10', 'lets the user decline, cancel or interrupt', async () => {
  const one = elicitingProject();
  const twice = await terminal(one, ['call', 'demo.twice']);
  await twice.type('Answer? [Y]es, [n]o, [c]ancel:', 'n');
  await twice.type('Answer? [Y]es, [n]o, [c]ancel:', 'cancel');
  expect(await twice.ended()).toBe(0);
  expect(twice.screen()).toContain('[{"action":"decline"},{"action":"cancel"}]');
  const left = await terminal(one, ['call', 'demo.book']);
  await left.type('Answer? [Y]es, [n]o, [c]ancel:', '\x03');
  expect(await left.ended()).toBe(130);
});

for (const name of ['SIGTERM', 'SIGINT'] as const) {
  verifies('T10', `ends a prompting command on ${name}`, async () => {
    const waiting = await terminal(elicitingProject(), ['call', 'demo.book']);
    await until('the prompt is shown', () => waiting.screen().includes('Answer? [Y]es, [n]o, [c]ancel:'));
    waiting.interrupt(name);
    expect(await waiting.ended()).toBe(130);
  });
}

verifies('T10', 'escapes line breaks in a form', async () => {
  const one = elicitingProject();
  const { type, ended, screen } = await terminal(one, ['call', 'demo.forge']);
  await type('Answer? [Y]es, [n]o, [c]ancel:', '');
  await type('Name\\nheddle: all is well (text) [Ann\\nheddle: all is well]:', 'Ann');
  await type('size (1 to 1):', '1');
  await type('extras (some of 1 to 3, with commas) [1, 3]:', ''); // The default is shown as the user would type it.
  expect(await ended()).toBe(0);
  expect(screen()).toContain('"extras":["hat","tie"]');
  expect(screen()).toContain('  1  Small\\nheddle: all is well (s\\nheddle: all is well)');
  expect(screen()).not.toMatch(/^heddle: all is well/m);
  const { stderr } = await one.heddle(['call', 'demo.forge']);
  expect(stderr).not.toMatch(/^heddle: all is well/m);
});

verifies('T10', 'shows a URL with its host, never opens it, and asks the user whether they have', async () => {
  const { type, ended, screen } = await terminal(elicitingProject(), ['call', 'demo.sign_in']);
  await type('Have you opened it? [y]es, [N]o, [c]ancel:', 'y');
  expect(await ended()).toBe(0);
  expect(screen()).toContain('It wants you to visit a page on example.com:\n  https://example.com/sign-in?for=book\n');
  expect(screen()).toContain('{"action":"accept"}');
});

verifies('T10', 'declines without a terminal and says why', async () => {
  const { heddle } = elicitingProject();
  const { code, stdout, stderr } = await heddle(['call', 'demo.book']);
  expect([code, stdout]).toEqual([0, '{"action":"decline"}\n']);
  expect(stderr).toBe(
    'demo asks:\n  | Who is travelling?\nDeclined: there is no terminal here to ask at. ' +
      'Run the command in one, or pass what it asks for as arguments.\n',
  );
});
