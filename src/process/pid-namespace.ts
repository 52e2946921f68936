import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { findProgram } from './find-program.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** How to start a program in a pid namespace of its own, which nothing it starts can leave; or why that cannot be done here. */
export type PidNamespace =
  | { readonly enter: readonly [string, ...string[]] }
  | { readonly why: string; readonly fix?: string };

export interface Probe {
  readonly platform?: NodeJS.Platform;
  readonly uid?: number | undefined;
  readonly env?: Environment;
  /** Where `unshare` is looked for. */
  readonly path?: string;
  /** Reads a setting of the kernel; undefined where there is none. */
  readonly sysctl?: (name: string) => Promise<string | undefined>;
}

/**
 * The first process of the namespace; the namespace ends with it. It is not the server itself, because the first process
 * is deaf to signals it has no handler for and inherits orphans it would never bury. Nor is it the server's parent, because
 * many servers take a parent numbered 0 or 1 to mean that theirs has died. Once asked to end, it stays until the server's
 * children have left too; a server that ends by itself takes them along at once.
 */
const INIT = `
unset PWD OLDPWD SHLVL
trap 'asked=1' INT TERM
(trap : INT TERM; "$@"; exit $?)
code=$?
PATH=/usr/bin:/bin
while [ "$asked" ] && kill -s 0 -- -1 2>/dev/null; do sleep 0.01; done
exit $code
`;
const PROBE_MS = 5000;
// Never the user's PATH: below `npx` it begins with a folder of the project, whose programs nobody has agreed to.
const SYSTEM = '/usr/bin:/bin:/usr/sbin:/sbin:/run/current-system/sw/bin';
const SWITCH = 'HEDDLE_PID_NAMESPACE';
const SHELL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const run = promisify(execFile);

/** Tries it once, with a program that does nothing. */
export async function probePidNamespace(probe: Probe = {}): Promise<PidNamespace> {
  const { platform = process.platform, uid = process.geteuid?.(), env = process.env } = probe;
  const { path = SYSTEM, sysctl = readSysctl } = probe;
  if (platform !== 'linux') return { why: 'only Linux has pid namespaces' };
  if (env[SWITCH] === 'off') return { why: `${SWITCH}=off says so`, fix: `Unset ${SWITCH}.` };
  const unshare = await findProgram('unshare', { path });
  if (!('file' in unshare)) return { why: 'the program unshare is missing', fix: 'Install the package util-linux.' };
  let complaint = '';
  for (const own of uid === 0 ? [[], USER] : [USER]) {
    const enter = [unshare.file, ...own, ...PID, '/bin/sh', '-c', INIT, 'heddle-init'] as const;
    const [command, ...args] = [...enter, ':'] as const;
    try {
      await run(command, args, { timeout: PROBE_MS, killSignal: 'SIGKILL', env: {}, cwd: '/' });
      return { enter: enter as unknown as readonly [string, ...string[]] };
    } catch (thrown) {
      complaint = String((thrown as { stderr?: string }).stderr ?? thrown).trim();
    }
  }
  return lackOf(complaint, uid, sysctl);
}

/** What to put before a command. Nothing where there is no namespace, or where a variable could not pass through a shell. */
export function entering(namespace: PidNamespace, env: Readonly<Record<string, string>>): readonly string[] {
  return 'enter' in namespace && unpassable(env) === undefined ? namespace.enter : [];
}

/** The first variable that a shell would not hand on, because it is no name for one. */
export const unpassable = (env: Readonly<Record<string, string>>): string | undefined =>
  Object.keys(env).find((name) => !SHELL_NAME.test(name));

// Its own /proc: in ours the numbers it knows mean other processes. What is mounted outside later still appears inside.
const PID = ['--pid', '--fork', '--kill-child', '--mount-proc', '--propagation', 'slave', '--'];
const USER = ['--user', '--map-current-user'];

/** Settings that forbid it to people without privileges: name, the value that does, the one that does not. */
const FORBIDDING = [
  ['user.max_user_namespaces', '0', '10000'],
  ['user.max_pid_namespaces', '0', '10000'],
  ['kernel.unprivileged_userns_clone', '0', '1'],
  ['kernel.apparmor_restrict_unprivileged_userns', '1', '0'],
] as const;

async function lackOf(
  complaint: string,
  uid: number | undefined,
  sysctl: NonNullable<Probe['sysctl']>,
): Promise<PidNamespace> {
  if (/unrecognized option|invalid option/i.test(complaint)) {
    return { why: 'unshare is too old', fix: 'Install the package util-linux, 2.34 or newer.' };
  }
  for (const [name, forbidding, allowing] of FORBIDDING) {
    if ((await sysctl(name)) !== forbidding) continue;
    return { why: `the kernel is set to ${name}=${forbidding}`, fix: `Run \`sudo sysctl ${name}=${allowing}\`.` };
  }
  const who = uid === 0 ? 'this container' : 'this user';
  const why = `${who} may not make one${complaint && ` (${complaint.split('\n')[0]})`}`;
  return { why, fix: 'In a container, add the capability SYS_ADMIN; or leave it so: groups and marks still hold.' };
}

const readSysctl = (name: string): Promise<string | undefined> =>
  readFile(`/proc/sys/${name.replaceAll('.', '/')}`, 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
