import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Whether a process runs. Not `kill(pid, 0)`: that also finds a zombie whose new parent has not looked yet. */
export function alive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !stat.slice(stat.lastIndexOf(')')).startsWith(') Z');
  } catch {
    return false;
  }
}

/** The running processes whose environment holds this text, which their children inherit. */
export const carriersOf = (text: string): readonly number[] => running('environ', text);

/** Kills processes with SIGKILL. One of them may end with another before its turn. */
export function killAll(pids: readonly number[]): void {
  for (const pid of pids) attempt(() => process.kill(pid, 'SIGKILL'));
}

/** The running processes with this text among their arguments, which nothing but another program takes from them. */
export const runningWith = (text: string): readonly number[] => running('cmdline', text);

/** What this machine calls the processes that these numbers mean to the carriers of a text, in their own namespace if they have one. */
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

function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined; // It has ended meanwhile.
  }
}

/** The running watchdogs of the Heddle that gave out this mark. */
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
