import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, parseJson } from '../core/json.ts';

/** What a gateway leaves in the home folder, so that other commands find it. */
export interface RunningGateway {
  readonly url: string;
  readonly token: string;
  readonly pid: number;
  /** The project it serves: what it knows is about that one. */
  readonly project: string;
}

const fileIn = (home: string) => join(home, 'gateway.json');
const ASK_MS = 1000;

export async function announceGateway(home: string, gateway: RunningGateway): Promise<void> {
  await writeFile(fileIn(home), `${JSON.stringify(gateway)}\n`, { mode: 0o600 });
  await chmod(fileIn(home), 0o600); // `mode` counts only when the file is new.
}

/** Takes the note away, unless another gateway has put its own there meanwhile. */
export async function withdrawGateway(home: string, pid: number): Promise<void> {
  if ((await readNote(home))?.pid === pid) await rm(fileIn(home), { force: true });
}

/** The gateway that runs now, if one does. A note that a killed one left behind does not count. */
export async function findGateway(home: string): Promise<RunningGateway | undefined> {
  const gateway = await readNote(home);
  return gateway && isAlive(gateway.pid) ? gateway : undefined;
}

/** Asks a running gateway for something under `/api`. Undefined when it does not answer: the note may be stale. */
export async function askGateway({ url, token }: RunningGateway, path: string): Promise<unknown> {
  try {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(new URL(path, url), { headers, signal: AbortSignal.timeout(ASK_MS) });
    return response.ok ? await response.json() : undefined;
  } catch {
    return undefined;
  }
}

async function readNote(home: string): Promise<RunningGateway | undefined> {
  try {
    const note = parseJson(await readFile(fileIn(home), 'utf8'));
    if (!isObject(note)) return undefined;
    const { url, token, pid, project } = note;
    const whole = [url, token, project].every((field) => typeof field === 'string') && Number.isInteger(pid);
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
