import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Tests whether a process runs. `kill(pid, 0)` would also succeed for a zombie that its parent has not reaped. */
export function alive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !stat.slice(stat.lastIndexOf(')')).startsWith(') Z');
  } catch {
    return false;
  }
}

/** Returns the running processes whose environment contains this text. Child processes inherit it. */
export const carriersOf = (text: string): readonly number[] => running('environ', text);

/** Kills processes with SIGKILL. Ignores those that have already ended. */
export function killAll(pids: readonly number[]): void {
  for (const pid of pids) attempt(() => process.kill(pid, 'SIGKILL'));
}

/** Returns the running processes with this text in their arguments. They keep it until they exec another program. */
export const runningWith = (text: string): readonly number[] => running('cmdline', text);

/**
 * Translates process ids of a PID namespace to those of this machine. The namespace is that of the processes with
 * this text in their environment. Without a separate namespace the ids stay the same.
 */
export function hostPids(own: readonly number[], text: string): readonly number[] {
  const outside = namespaceOf('self');
  const namespaces = new Set(carriersOf(text).map(namespaceOf));
  const inside = [...namespaces].find((one) => one !== undefined && one !== outside);
  if (inside === undefined) return own;
  const pids = readdirSync('/proc').filter((pid) => Number(pid) > 0 && namespaceOf(pid) === inside);
  const names = new Map(pids.map((pid) => [ownNumberOf(pid), Number(pid)]));
  return own.map((number) => names.get(number) ?? 0);
}

const namespaceOf = (pid: string | number) => attempt(() => readlinkSync(`/proc/${pid}/ns/pid`));
const ownNumberOf = (pid: string) =>
  Number(attempt(() => /^NSpid:.*\s(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]));

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined; // The process has ended.
  }
}

/** Returns the running watchdogs of the Heddle process that created this mark. */
export function watchdogsOf(mark: string): readonly number[] {
  return running('cmdline', `heddle-watchdog\0HEDDLE_LINE=${mark.slice(0, mark.lastIndexOf('.'))}\0`);
}

function running(file: 'environ' | 'cmdline', text: string): readonly number[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return pids.filter((pid) => pid !== process.pid && holds(`/proc/${pid}/${file}`, text) && alive(pid));
}

function holds(file: string, text: string): boolean {
  try {
    return readFileSync(file).includes(text);
  } catch {
    return false;
  }
}
