// Shared by the servers that tests start: packages of Debian, accounts, ports, and a command with servers around it.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { runChild } from './child.mjs';

export const isRoot = process.getuid?.() === 0;

/**
 * @typedef {{ url: string, stop(): Promise<void> }} Service
 */

/** Installs a package of Debian. Only root can. */
export function installPackage(name) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  runQuietly('apt-get', ['update', '-qq'], { env });
  const keepSettings = ['-o', 'Dpkg::Options::=--force-confold'];
  runQuietly('apt-get', ['install', '-qq', '-y', '--no-install-recommends', ...keepSettings, name], { env });
}

/** Returns the ids of an account; undefined if there is none. */
export function accountOf(name) {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`));
  if (!line) return undefined;
  const [, , uid, gid] = line.split(':');
  return { uid: Number(uid), gid: Number(gid) };
}

/** Runs a program without output. Throws with its stderr if it fails. */
export function runQuietly(program, args, options) {
  const { status, error, stderr } = spawnSync(program, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr}`);
}

/** @returns {Promise<number>} */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/**
 * Runs the command after `--` with servers around it, which start at the same time.
 *
 * @param {Record<string, () => Promise<Service>>} starts by the variable that tells the command its URL
 */
export async function runWithServices(starts) {
  const [command, ...args] = process.argv.slice(process.argv.indexOf('--') + 1);
  if (!process.argv.includes('--') || !command) {
    throw new Error(`The command is missing: \`node ${process.argv[1]} -- command args…\`.`);
  }
  const names = Object.keys(starts);
  const started = await Promise.allSettled(names.map((name) => starts[name]()));
  try {
    const failure = started.find((one) => one.status === 'rejected');
    if (failure) throw failure.reason;
    const urls = Object.fromEntries(names.map((name, at) => [name, started[at].value.url]));
    const { code } = await runChild(command, args, { env: { ...process.env, ...urls }, stdio: 'inherit' });
    process.exitCode = code;
  } finally {
    await Promise.allSettled(started.map((one) => one.value?.stop()));
  }
}
