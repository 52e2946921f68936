import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { hostMachine } from './connected-host.ts';
import { SERVERS } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const CURSOR = '.cursor/mcp.json';
const WIDE = { rows: 50, cols: 400 };
const RISKY = { command: process.execPath, args: [join(SERVERS, 'risky-tools.mjs')] };
const ASKS =
  '3 of 4 tools of browser ask for approval.\n  fix: `heddle permissions allow mcp__browser` allows them, destructive and high-risk ones included.\n';
const ALL_ASK = '4 of 4 tools of browser ask for approval.';
const UNKNOWN = 'The tools of browser are not known yet. `heddle doctor` counts those that ask for approval.';
const OFFER =
  'browser: 1 of the 4 tools that ask is neither destructive nor of high risk, as the server itself declares:';

/** A machine with Cursor, whose server has three destructive tools. */
const machine = (mode = 'guarded') =>
  hostMachine({ [CURSOR]: JSON.stringify({ mcpServers: { browser: RISKY } }) }, { 'heddle.json': { mode } });

const allowedIn = (home: string) => {
  const file = join(home, 'heddle.json');
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')).permissions?.allow ?? []) : [];
};

verifies('G6', '`connect` at a terminal says how many tools ask, and allows the mild ones after a yes', async () => {
  const { at } = machine('strict');
  const shown = await terminal(at, ['connect', 'cursor'], WIDE);
  await shown.type('Import them into', '');
  await shown.type('Disable them in', '');
  await shown.type('Write ', '');
  await shown.type(`${OFFER} mcp__browser__look. Allow it without approval? [y/N]`, 'y');
  expect(await shown.ended()).toBe(0);
  expect(shown.screen()).toContain(ALL_ASK);
  expect(shown.screen()).toContain(`Allowed mcp__browser__look in ${join(at.home, 'heddle.json')} (user).`);
  expect(allowedIn(at.home)).toEqual(['mcp__browser__look']);
});

verifies('G6', '`import` at a terminal allows nothing after Enter, and `--yes` asks nothing', async () => {
  const first = machine('strict').at;
  const asked = await terminal(first, ['import', 'cursor', '--write'], WIDE);
  await asked.type(OFFER, '');
  expect(await asked.ended()).toBe(0);
  expect(allowedIn(first.home)).toEqual([]);
  const second = machine('strict').at;
  const silent = await terminal(second, ['import', 'cursor', '--write', '--yes'], WIDE);
  expect(await silent.ended()).toBe(0);
  expect(silent.screen()).toContain(ALL_ASK);
  expect(silent.screen()).not.toContain(OFFER);
  expect(allowedIn(second.home)).toEqual([]);
});

verifies(
  'G6',
  '`connect --yes` says the counts and the command, offers no destructive tool and allows none',
  async () => {
    const { at } = machine();
    const { code, stderr } = await at.heddle(['connect', 'cursor', '--yes', '--check']);
    expect(code).toBe(0);
    expect(stderr).toContain(ASKS);
    expect(allowedIn(at.home)).toEqual([]);
  },
);

verifies(
  'G6',
  '`connect --yes` in a pipe starts no server: it counts known tools, and names unknown servers',
  async () => {
    const { at } = machine();
    const unknown = await at.heddle(['connect', 'cursor', '--yes']);
    expect(unknown.stderr).toContain(UNKNOWN);
    await at.heddle(['connect', 'cursor', '--undo']);
    await at.heddle(['list', 'tools']);
    expect((await at.heddle(['connect', 'cursor', '--yes'])).stderr).toContain(ASKS);
    await at.heddle(['connect', 'cursor', '--undo']);
    const counted = JSON.parse((await at.heddle(['connect', 'cursor', '--yes', '--json'])).stdout);
    expect(counted.approvals).toMatchObject([{ group: 'browser', tools: 4, needApproval: 3 }]);
  },
);
