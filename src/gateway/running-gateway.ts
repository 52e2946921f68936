import { readFile, rm } from 'node:fs/promises';
import { isObject, parseJson } from '../core/json.ts';
import { gatewayNote } from '../files/home-folder.ts';
import { writePrivateFile } from '../files/private-file.ts';
import type { ProvenBy } from './auth/gateway-proof.ts';
import type { ProvenConnection } from './auth/proven-connection.ts';

/** The note in the home folder by which other commands find a running gateway. */
export interface RunningGateway extends ProvenBy {
  readonly token: string;
  readonly pid: number;
  /** The project folder whose configuration it serves. */
  readonly project: string;
  /** The file of `--config`, without symbolic links; absent if the gateway reads the files of its project. */
  readonly config?: string;
  /** The digest of the configuration in force, keyed with `proofKey`. Commands with the same one use this gateway. */
  readonly digest?: string;
}

export interface GatewayWait {
  /** Called with a sentence for the user when a gateway whose process lives does not answer in time. */
  readonly report?: (message: string) => void;
  readonly waitMs?: number;
}

// A busy gateway may take seconds. A closed port and a wrong proof end the wait at once.
const WAIT_MS = 10_000;

export async function announceGateway(home: string, gateway: RunningGateway): Promise<void> {
  await writePrivateFile(gatewayNote(home), `${JSON.stringify(gateway)}\n`);
}

/** Writes the note again with another digest, unless another gateway has replaced it. */
export async function updateDigest(home: string, gateway: RunningGateway, digest: string): Promise<void> {
  if ((await readNote(home))?.pid === gateway.pid) await announceGateway(home, { ...gateway, digest });
}

/** Removes the note, unless another gateway has replaced it. */
export async function withdrawGateway(home: string, pid: number): Promise<void> {
  if ((await readNote(home))?.pid === pid) await rm(gatewayNote(home), { force: true });
}

/**
 * Finds the running gateway, if there is one. The process has to prove that it wrote the note. After a kill, pid and
 * port may belong to other programs.
 */
export async function findGateway(home: string, wait: GatewayWait = {}): Promise<RunningGateway | undefined> {
  const gateway = await readGatewayNote(home);
  const connection = gateway && (await connectToGateway(gateway, wait));
  connection?.close();
  return connection && gateway;
}

/** Reads the note of a gateway whose process lives. The process has not proven yet that it wrote the note. */
export async function readGatewayNote(home: string): Promise<RunningGateway | undefined> {
  const gateway = await readNote(home);
  return gateway && isAlive(gateway.pid) ? gateway : undefined;
}

/** Opens a connection over which the gateway has proven itself. The token may be sent over it. */
export async function connectToGateway(
  gateway: RunningGateway,
  { report, waitMs = WAIT_MS }: GatewayWait = {},
): Promise<ProvenConnection | undefined> {
  const { openProvenConnection } = await import('./auth/proven-connection.ts');
  const deadline = AbortSignal.timeout(waitMs);
  const connection = await openProvenConnection(gateway, deadline);
  if (!connection && deadline.aborted) {
    report?.(`The gateway at ${gateway.url} (pid ${gateway.pid}) did not answer within ${waitMs / 1000} s.`);
  }
  return connection;
}

async function readNote(home: string): Promise<RunningGateway | undefined> {
  try {
    const note = parseJson(await readFile(gatewayNote(home), 'utf8'));
    if (!isObject(note)) return undefined;
    const { url, token, pid, project, proofKey, config = '', digest = '' } = note;
    const isComplete =
      [url, token, project, proofKey, config, digest].every((field) => typeof field === 'string') &&
      Number.isInteger(pid);
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
