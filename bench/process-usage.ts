import { readFileSync } from 'node:fs';

// What Linux counts in, whatever its kernel was built with.
const TICKS_PER_SECOND = 100;
const UTIME = 11;
const STIME = 12;

/** The processor time a process has used so far, in microseconds; it comes in steps of 10 ms. */
export function cpuMicroseconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // The name before may hold anything.
  return ((Number(fields[UTIME]) + Number(fields[STIME])) * 1_000_000) / TICKS_PER_SECOND;
}

export function residentMegabytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}
