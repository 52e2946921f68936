import { readdirSync, readFileSync } from 'node:fs';

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
