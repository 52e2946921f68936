import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { entering, type PidNamespace, type Probe, probePidNamespace } from './pid-namespace.ts';
import { startGroup } from './process-group.ts';

/** A folder whose `unshare` does what the script says. */
function unshareThat(script: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'unshare'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, 'unshare'), 0o755);
  return folder;
}

const REFUSES = 'echo "unshare: unshare failed: Operation not permitted" >&2; exit 1';
const linux: Probe = { platform: 'linux', env: {}, uid: 1000, sysctl: async () => undefined };

describe('the probe', () => {
  for (const [what, probe, expected] of [
    ['the system is not Linux', { platform: 'darwin' }, { reason: 'only Linux has pid namespaces' }],
    ['unshare is missing', { path: '/nowhere' }, { fix: 'Install the package util-linux.' }],
    ['it is not wanted', { env: { HEDDLE_PID_NAMESPACE: 'off' } }, { reason: 'HEDDLE_PID_NAMESPACE=off is set' }],
  ] as const) {
    verifies('T4', `says when ${what}`, async () => {
      expect(await probePidNamespace({ ...linux, ...probe })).toMatchObject(expected);
    });
  }

  for (const [what, script, probe, expected] of [
    ['unshare is too old', 'echo "unshare: unrecognized option \'--kill-child\'" >&2; exit 1', {}, /util-linux, 2\.34/],
    ['the kernel has them turned off', REFUSES, { 'user.max_user_namespaces': '0' }, /max_user_namespaces=10000/],
    ['AppArmor forbids them', REFUSES, { 'kernel.apparmor_restrict_unprivileged_userns': '1' }, /apparmor.*=0/],
    ['a container forbids them', REFUSES, {}, /SYS_ADMIN/],
  ] as const) {
    verifies('T4', `says what to do when ${what}`, async () => {
      const settings: Record<string, string> = probe;
      const sysctl = async (name: string) => settings[name];
      const found = await probePidNamespace({ ...linux, path: unshareThat(script), sysctl });
      expect(found).toMatchObject({ reason: expect.any(String), fix: expect.stringMatching(expected) });
    });
  }

  it('does not run an unshare that the PATH happens to name', async () => {
    const folder = unshareThat(`touch "$0.was-run"`);
    await probePidNamespace({ env: { PATH: folder } });
    expect(existsSync(join(folder, 'unshare.was-run'))).toBe(false);
  });

  it('asks for a user namespace only where it is needed', async () => {
    const path = unshareThat('exit 0');
    const words = async (uid: number) => {
      const found = await probePidNamespace({ ...linux, uid, path });
      return 'enter' in found && found.enter.includes('--user');
    };
    expect([await words(0), await words(1000)]).toEqual([false, true]);
    const onlyWithUser = unshareThat('[ "$1" = --user ]');
    expect(await probePidNamespace({ ...linux, uid: 0, path: onlyWithUser })).toHaveProperty('enter');
  });
});

it('goes without where a shell would lose a variable', () => {
  const namespace: PidNamespace = { enter: ['unshare'] };
  expect(entering(namespace, { PATH: '/bin', _x1: '' })).toEqual(['unshare']);
  expect(entering(namespace, { 'npm_config_//host/:_authToken': 'secret' })).toEqual([]);
  expect(entering({ reason: 'no' }, {})).toEqual([]);
});

const here = await probePidNamespace();
const enter = entering(here, {});
const group = (script: string, env: Record<string, string> = {}) =>
  startGroup({ command: process.execPath, args: ['-e', script], env, mark: 'test.1', enter });

describe('a server where servers are enclosed, if they can be here', () => {
  verifies('T4', 'does not take itself for an orphan, and finds itself in /proc', async () => {
    const { child, exited } = group(`const { readlinkSync } = require('node:fs');
      console.log(JSON.stringify([process.ppid > 1, readlinkSync('/proc/self') === String(process.pid)]))`);
    expect(JSON.parse(await text(child.stdout))).toEqual([true, true]);
    await exited;
  });

  verifies('T4', 'has the variables it was given and no others', async () => {
    const env = { PATH: '/usr/bin:/bin', QUOTED: `a 'b' "c" $d\n` };
    const { child, exited } = group('console.log(JSON.stringify(process.env))', env);
    expect(JSON.parse(await text(child.stdout))).toEqual({ ...env, HEDDLE_LINE: 'test.1' });
    await exited;
  });

  it('is started with its words as they are', async () => {
    const words = ['', 'two words', '$HOME', `it's`, '*', '--', '-x'];
    const args = ['-e', 'console.log(JSON.stringify(process.argv.slice(1)))', '--', ...words];
    const { child, exited } = startGroup({ command: process.execPath, args, env: {}, mark: 'test.2', enter });
    expect(JSON.parse(await text(child.stdout))).toEqual(words);
    await exited;
  });

  verifies('T4', 'ends at once by a signal that it does not handle', async () => {
    const one = group(`process.stdout.write('ready'); setInterval(() => {}, 1000);`);
    await new Promise((resolve) => one.child.stdout.once('data', resolve));
    await one.end();
    expect(one.ending()).toEqual({ signal: 'SIGINT' });
  });

  for (const [script, ending] of [
    ['process.exit(0)', { code: 0 }],
    ['process.exit(3)', { code: 3 }],
    [`process.kill(process.pid, 'SIGTERM')`, { signal: 'SIGTERM' }],
    [`process.kill(process.pid, 'SIGKILL')`, { signal: 'SIGKILL' }],
  ] as const) {
    it(`tells how it ended: ${script}`, async () => {
      const one = group(script);
      expect(one.ending()).toBeUndefined();
      await one.exited;
      expect(one.ending()).toEqual(ending);
    });
  }

  verifies('T4', 'leaves its children their time when it is asked to end', async () => {
    const child = `process.on('SIGINT', () => {}); process.on('SIGTERM', () => { console.log('finished'); process.exit(); });
      console.log('ready'); setInterval(() => {}, 1000);`;
    const script = `require('node:child_process').spawn(process.execPath, ['-e', process.env.CHILD], { stdio: 'inherit' });
      process.on('SIGINT', () => process.exit());`;
    const one = group(script, { CHILD: child });
    const said = text(one.child.stdout);
    await new Promise((resolve) => one.child.stdout.once('data', resolve));
    await one.end();
    expect(await said).toBe('ready\nfinished\n');
  });
});
