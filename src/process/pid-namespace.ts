import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { findProgram } from './find-program.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The command prefix that starts a program in its own pid namespace, or why namespaces are unavailable. */
export type PidNamespace =
  | { readonly enter: readonly [string, ...string[]] }
  | { readonly reason: string; readonly fix?: string };

export interface Probe {
  readonly platform?: NodeJS.Platform;
  readonly uid?: number | undefined;
  readonly env?: Environment;
  /** The folders in which `unshare` is searched. */
  readonly path?: string;
  /** Reads a kernel setting; undefined when it does not exist. */
  readonly sysctl?: (name: string) => Promise<string | undefined>;
}

/**
 * The first process of the namespace; the namespace ends with it. The server cannot be the first process: pid 1 ignores
 * signals without a handler and has to reap orphans. The subshell between them is the server's parent, because many
 * servers take a parent pid of 0 or 1 as the death of their parent. After SIGINT or SIGTERM it waits for the server's
 * children. When the server ends by itself, its children end at once.
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
// Not the user's PATH: below `npx` it begins with a project folder, whose programs the user has not trusted.
const SYSTEM = '/usr/bin:/bin:/usr/sbin:/sbin:/run/current-system/sw/bin';
const SWITCH = 'HEDDLE_PID_NAMESPACE';
const SHELL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const run = promisify(execFile);

/** Tests namespaces with a program that does nothing. */
export async function probePidNamespace(probe: Probe = {}): Promise<PidNamespace> {
  const { platform = process.platform, uid = process.geteuid?.(), env = process.env } = probe;
  const { path = SYSTEM, sysctl = readSysctl } = probe;
  if (platform !== 'linux') return { reason: 'only Linux has pid namespaces' };
  if (env[SWITCH] === 'off') return { reason: `${SWITCH}=off is set`, fix: `Unset ${SWITCH}.` };
  const unshare = await findProgram('unshare', { path });
  if (!('file' in unshare)) return { reason: 'the program unshare is missing', fix: 'Install the package util-linux.' };
  let stderr = '';
  for (const own of uid === 0 ? [[], USER] : [USER]) {
    const enter = [unshare.file, ...own, ...PID, '/bin/sh', '-c', INIT, 'heddle-init'] as const;
    const [command, ...args] = [...enter, ':'] as const;
    try {
      await run(command, args, { timeout: PROBE_MS, killSignal: 'SIGKILL', env: {}, cwd: '/' });
      return { enter: enter as unknown as readonly [string, ...string[]] };
    } catch (thrown) {
      stderr = String((thrown as { stderr?: string }).stderr ?? thrown).trim();
    }
  }
  return lackOf(stderr, uid, sysctl);
}

/** Returns the command prefix. Empty without namespaces, or when a shell would drop a variable of the environment. */
export function entering(namespace: PidNamespace, env: Readonly<Record<string, string>>): readonly string[] {
  return 'enter' in namespace && unpassable(env) === undefined ? namespace.enter : [];
}

/** Returns the first variable that a shell drops because of its name. */
export const unpassable = (env: Readonly<Record<string, string>>): string | undefined =>
  Object.keys(env).find((name) => !SHELL_NAME.test(name));

// It has its own /proc, because pids differ inside. Later mounts outside still appear inside.
const PID = ['--pid', '--fork', '--kill-child', '--mount-proc', '--propagation', 'slave', '--'];
const USER = ['--user', '--map-current-user'];

/** Kernel settings that forbid namespaces to unprivileged users: name, forbidding value, allowing value. */
const FORBIDDING = [
  ['user.max_user_namespaces', '0', '10000'],
  ['user.max_pid_namespaces', '0', '10000'],
  ['kernel.unprivileged_userns_clone', '0', '1'],
  ['kernel.apparmor_restrict_unprivileged_userns', '1', '0'],
] as const;

async function lackOf(
  stderr: string,
  uid: number | undefined,
  sysctl: NonNullable<Probe['sysctl']>,
): Promise<PidNamespace> {
  if (/unrecognized option|invalid option/i.test(stderr)) {
    return { reason: 'unshare is too old', fix: 'Install the package util-linux, 2.34 or newer.' };
  }
  for (const [name, forbidding, allowing] of FORBIDDING) {
    if ((await sysctl(name)) !== forbidding) continue;
    return { reason: `the kernel is set to ${name}=${forbidding}`, fix: `Run \`sudo sysctl ${name}=${allowing}\`.` };
  }
  const subject = uid === 0 ? 'this container' : 'this user';
  const reason = `${subject} may not make one${stderr && ` (${stderr.split('\n')[0]})`}`;
  return {
    reason,
    fix: 'In a container, add the capability SYS_ADMIN; without it, process groups and marks still end the processes.',
  };
}

const readSysctl = (name: string): Promise<string | undefined> =>
  readFile(`/proc/sys/${name.replaceAll('.', '/')}`, 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
