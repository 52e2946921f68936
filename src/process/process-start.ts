import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** A process of this machine. A pid that is used again belongs to a process with another start. */
export interface ProcessStart {
  readonly pid: number;
  readonly startedAt: string;
}

/** Returns this process. */
export const thisProcess = (): ProcessStart => ({ pid: process.pid, startedAt: startOf(process.pid) ?? hostname() });

/**
 * Tests whether a process still runs. One of another host counts as dead: a restarted container has another name, and
 * processes on two machines cannot share a SQLite file.
 */
export function isProcessAlive({ pid, startedAt }: ProcessStart): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || !isRunning(pid)) return false;
  return (startOf(pid) ?? hostname()) === startedAt;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Returns host, boot and start time of a process; undefined where the system does not tell. A zombie has ended. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // The name may have spaces.
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return fields[0] === 'Z' ? 'ended' : `${hostname()} ${boot} ${fields[19]}`;
  } catch {
    return undefined;
  }
}
