import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, parseJson } from '../core/json.ts';
import { writePrivateFile } from '../files/private-file.ts';
import type { ProvenBy } from './auth/gateway-proof.ts';
import type { Get } from './auth/proven-connection.ts';

/** What a gateway leaves in the home folder, so that other commands find it. */
export interface RunningGateway extends ProvenBy {
  readonly token: string;
  readonly pid: number;
  /** The project it serves: what it knows is about that one. */
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

/** Takes the note away, unless another gateway has put its own there meanwhile. */
export async function withdrawGateway(home: string, pid: number): Promise<void> {
  if ((await readNote(home))?.pid === pid) await rm(fileIn(home), { force: true });
}

/**
 * Finds the gateway that runs now, if one does. The noted process has to prove that it wrote the note: the one that did
 * may have been killed, and its process number and port may belong to other programs by now.
 */
export async function findGateway(home: string, wait: GatewayWait = {}): Promise<RunningGateway | undefined> {
  const gateway = await readNote(home);
  if (!gateway || !isAlive(gateway.pid)) return undefined;
  return requestOf(gateway, wait, async () => gateway);
}

/** Requests something under `/api` from a running gateway. Sends the token only to a process that proved itself. */
export function requestGateway(gateway: RunningGateway, path: string, wait: GatewayWait = {}): Promise<unknown> {
  return requestOf(gateway, wait, (get) => get(path, { authorization: `Bearer ${gateway.token}` }));
}

async function requestOf<T>(
  gateway: RunningGateway,
  { report, waitMs = WAIT_MS }: GatewayWait,
  use: (get: Get) => Promise<T>,
): Promise<T | undefined> {
  const { overProvenConnection } = await import('./auth/proven-connection.ts');
  const late = AbortSignal.timeout(waitMs);
  const result = await overProvenConnection(gateway, late, use);
  if (result === undefined && late.aborted) {
    report?.(`The gateway at ${gateway.url} (pid ${gateway.pid}) did not answer within ${waitMs / 1000} s.`);
  }
  return result;
}

async function readNote(home: string): Promise<RunningGateway | undefined> {
  try {
    const note = parseJson(await readFile(fileIn(home), 'utf8'));
    if (!isObject(note)) return undefined;
    const { url, token, pid, project, proofKey } = note;
    const whole = [url, token, project, proofKey].every((field) => typeof field === 'string') && Number.isInteger(pid);
    return whole ? (note as unknown as RunningGateway) : undefined;
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
