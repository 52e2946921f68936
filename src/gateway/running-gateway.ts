import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, parseJson } from '../core/json.ts';
import { writePrivateFile } from '../files/private-file.ts';
import type { ProvenBy } from './auth/gateway-proof.ts';
import type { Get } from './auth/proven-connection.ts';

/** The note in the home folder by which other commands find a running gateway. */
export interface RunningGateway extends ProvenBy {
  readonly token: string;
  readonly pid: number;
  /** The project folder whose configuration it serves. */
  readonly project: string;
}

export interface GatewayWait {
  /** Called with a sentence for the user when a gateway whose process lives does not answer in time. */
  readonly report?: (message: string) => void;
  readonly waitMs?: number;
}

// A busy gateway may take seconds. A closed port and a wrong proof end the wait at once.
const WAIT_MS = 10_000;

const fileIn = (home: string) => join(home, 'gateway.json');

export async function announceGateway(home: string, gateway: RunningGateway): Promise<void> {
  await writePrivateFile(fileIn(home), `${JSON.stringify(gateway)}\n`);
}

/** Removes the note, unless another gateway has replaced it. */
export async function withdrawGateway(home: string, pid: number): Promise<void> {
  if ((await readNote(home))?.pid === pid) await rm(fileIn(home), { force: true });
}

/**
 * Finds the running gateway, if there is one. The process has to prove that it wrote the note. After a kill, pid and
 * port may belong to other programs.
 */
export async function findGateway(home: string, wait: GatewayWait = {}): Promise<RunningGateway | undefined> {
  const gateway = await readNote(home);
  if (!gateway || !isAlive(gateway.pid)) return undefined;
  return requestOf(gateway, wait, async () => gateway);
}

/** Sends a GET under `/api` to a running gateway. The token is sent only after the gateway's proof. */
export function requestGateway(gateway: RunningGateway, path: string, wait: GatewayWait = {}): Promise<unknown> {
  return requestOf(gateway, wait, (get) => get(path, { authorization: `Bearer ${gateway.token}` }));
}

async function requestOf<T>(
  gateway: RunningGateway,
  { report, waitMs = WAIT_MS }: GatewayWait,
  use: (get: Get) => Promise<T>,
): Promise<T | undefined> {
  const { overProvenConnection } = await import('./auth/proven-connection.ts');
  const deadline = AbortSignal.timeout(waitMs);
  const result = await overProvenConnection(gateway, deadline, use);
  if (result === undefined && deadline.aborted) {
    report?.(`The gateway at ${gateway.url} (pid ${gateway.pid}) did not answer within ${waitMs / 1000} s.`);
  }
  return result;
}

async function readNote(home: string): Promise<RunningGateway | undefined> {
  try {
    const note = parseJson(await readFile(fileIn(home), 'utf8'));
    if (!isObject(note)) return undefined;
    const { url, token, pid, project, proofKey } = note;
    const isComplete =
      [url, token, project, proofKey].every((field) => typeof field === 'string') && Number.isInteger(pid);
    return isComplete ? (note as unknown as RunningGateway) : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}
