import { readFileSync } from 'node:fs';

// The unit of /proc/PID/stat, the same for every Linux kernel.
const TICKS_PER_SECOND = 100;
const UTIME = 11;
const STIME = 12;

/** Returns the CPU time of a process in microseconds, with a resolution of 10 ms. */
export function cpuMicroseconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // The process name before may contain spaces.
  return ((Number(fields[UTIME]) + Number(fields[STIME])) * 1_000_000) / TICKS_PER_SECOND;
}

export function residentMegabytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}
