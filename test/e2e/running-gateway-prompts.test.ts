import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';
import { type Project, project, SERVERS } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const ANSWER = 'Answer? [Y]es, [n]o, [c]ancel:';
const eliciting = (file = 'eliciting-server.ts') =>
  project({ 'heddle.json': { mcpServers: { demo: { command: process.execPath, args: [join(SERVERS, file)] } } } });

/** A project with a server that has state, and a folder for what the server writes. */
function stateful(permissions: object = {}): Project {
  const files = project({ 'heddle.json': {} });
  const state = { command: process.execPath, args: [join(SERVERS, 'stateful-server.mjs'), files.folder] };
  writeFileSync(join(files.folder, 'heddle.json'), JSON.stringify({ mcpServers: { state }, permissions }));
  return files;
}

describe('at a terminal, through a running gateway', () => {
  verifies('L7', 'the user fills in a form', async () => {
    const one = eliciting();
    await one.up();
    const { type, ended, screen } = await terminal(one, ['call', 'demo.book', '-v']);
    await type(ANSWER, '');
    await type('Your name (text, at least 2 characters):', 'Ann');
    await type('seats (whole number, at least 1, at most 9) [2]:', '');
    await type('class (1 to 2):', '2');
    await type('meal (yes or no, may be left empty):', 'y');
    expect(await ended()).toBe(0);
    expect(screen()).toContain('Using the gateway at http://127.0.0.1:');
    expect(screen()).toContain('{"action":"accept","content":{"name":"Ann","seats":2,"class":"second","meal":true}}');
  });

  verifies('L7', 'the user answers two input requests of one call, and leaves another', async () => {
    const one = eliciting();
    await one.up();
    const twice = await terminal(one, ['call', 'demo.twice']);
    await twice.type(ANSWER, 'n');
    await twice.type(ANSWER, 'cancel');
    expect(await twice.ended()).toBe(0);
    expect(twice.screen()).toContain('[{"action":"decline"},{"action":"cancel"}]');
    const left = await terminal(one, ['call', 'demo.book']);
    await left.type(ANSWER, '\x03');
    expect(await left.ended()).toBe(130);
  });

  verifies('L7', 'the user approves or declines a call', async () => {
    const one = stateful({ ask: ['mcp__state'] });
    await one.up();
    const approved = await terminal(one, ['call', 'state.count']);
    await approved.type('Run it? [y/', 'y');
    expect(await approved.ended()).toBe(0);
    const declined = await terminal(one, ['call', 'state.count']);
    await declined.type('Run it? [y/', 'n');
    expect(await declined.ended()).toBe(5);
    const again = await one.heddle(['call', 'state.count', '--yes']);
    expect(again.stdout).toBe('2\n');
  });

  verifies('L7', 'the user also approves later calls with the same arguments', async () => {
    const one = stateful({ ask: ['mcp__state'] });
    await one.up();
    const approved = await terminal(one, ['call', 'state.count']);
    await approved.type('Run it? [y/a', 'a');
    expect(await approved.ended()).toBe(0);
    expect((await one.heddle(['call', 'state.count'])).stdout).toBe('2\n');
  });

  verifies('L7', 'Ctrl-C cancels the call at the server', async () => {
    const one = stateful();
    await one.up();
    const waiting = await terminal(one, ['call', 'state.wait']);
    await until('the server has the call', () => existsSync(join(one.folder, 'called')));
    await waiting.type('', '\x03');
    expect(await waiting.ended()).toBe(130);
    await until('the server has the cancellation', () => existsSync(join(one.folder, 'cancelled')));
  });

  verifies('L7', 'a list shows which servers are starting', async () => {
    const one = stateful();
    await one.up();
    const { ended, screen } = await terminal(one, ['list', 'tools']);
    expect(await ended()).toBe(0);
    expect(screen()).toContain('Starting state');
    expect(screen()).toContain('mcp__state__count');
  });

  verifies('L7', 'progress of a call is shown', async () => {
    const one = stateful();
    await one.up();
    const { ended, screen } = await terminal(one, ['call', 'state.progress']);
    expect([await ended(), screen()]).toEqual([0, expect.stringContaining('1/2 halfway')]);
  });
});
