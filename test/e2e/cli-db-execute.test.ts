import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { EXECUTE, OLDER, people } from '../builtin/database/people.ts';
import { verifies } from '../requirements.ts';
import { type Project, project } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const CALL = ['call', 'database.db_execute', '--args', JSON.stringify(OLDER)] as const;

/** A project in mode open whose database `db_execute` may change. */
function older(approvals: object = {}): { readonly one: Project; readonly ages: () => readonly unknown[] } {
  const one = project({ 'heddle.json': {} });
  mkdirSync(one.folder, { recursive: true });
  const { builtins, ages } = people(one.folder);
  writeFileSync(join(one.folder, 'heddle.json'), JSON.stringify({ builtins, mode: 'open', approvals }));
  return { one, ages };
}

verifies('B2', '`heddle call db_execute --yes` runs nothing without a user or an approver', async () => {
  const { one, ages } = older();
  for (const gateway of [false, true]) {
    if (gateway) await one.up();
    const { code, stderr } = await one.heddle([...CALL, '--yes']);
    expect([code, stderr]).toEqual([6, expect.stringContaining('APPROVAL_PENDING')]);
    expect(stderr).toContain('`--yes`');
    expect(ages()).toEqual([40, 60]);
  }
});

verifies('B2', 'the user at the terminal reads the preview, and approves the call', async () => {
  const { one, ages } = older();
  const { type, ended, screen } = await terminal(one, [...CALL, '--yes'], { rows: 60, cols: 200 });
  await type('Run it? [y/', 'y');
  expect(await ended()).toBe(0);
  expect(screen()).toMatch(/^preview +\S/m);
  expect(ages()).toEqual([41, 61]);
});

verifies('B2', 'permissions, describe and policy check show that each call asks', async () => {
  const { one } = older({ standing: [{ tool: EXECUTE, arguments: {} }] });
  const allow = await one.heddle(['permissions', 'allow', EXECUTE]);
  expect([allow.code, allow.stderr]).toEqual([3, expect.stringContaining('built-in is stronger')]);
  expect(allow.stderr).toContain('Each call of this tool needs an approval of its own');
  const { stdout } = await one.heddle(['permissions', '--json']);
  const { permissions } = JSON.parse(stdout) as { readonly permissions: readonly { readonly name: string }[] };
  expect(permissions.find(({ name }) => name === EXECUTE)).toMatchObject({ effect: 'ask', rule: 'built-in' });
  expect((await one.heddle(['describe', 'database.db_execute'])).stdout).toContain('always asks');
  const check = await one.heddle(['policy', 'check', 'database.db_execute', '--args', JSON.stringify(OLDER), '--json']);
  expect([check.code, JSON.parse(check.stdout)]).toEqual([
    6,
    expect.objectContaining({ effect: 'ask', rule: 'built-in' }),
  ]);
  const doctor = await one.heddle(['doctor']);
  expect(doctor.stdout + doctor.stderr).toContain(`approvals.standing[0]: ${EXECUTE} has no effect`);
});
