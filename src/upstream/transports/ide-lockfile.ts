import { constants } from 'node:fs';
import { type FileHandle, open, readdir, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Json } from '../../core/call.ts';
import { isObject, parseJson } from '../../core/json.ts';

/** A running IDE with an MCP server on this machine. */
export interface Ide {
  readonly port: number;
  readonly name: string;
  readonly token: string | undefined;
}

export interface IdeSearch {
  /** The folder with one `<port>.lock` file per IDE. */
  readonly lockFolder: string;
  readonly transport: 'sse' | 'ws';
  /** The folder that the IDE must have open. */
  readonly workspace: string;
  readonly port?: number | undefined;
  readonly isAlive?: (pid: number) => boolean;
}

interface Lockfile extends Ide {
  readonly pid: number;
  readonly transport: 'sse' | 'ws';
  readonly folders: readonly string[];
}

const MAX_BYTES = 64 * 1024;
const MAX_DEPTH = 8;
const MAX_FOLDERS = 100;
const MAX_NAME_CHARS = 60;
const MAX_TOKEN_CHARS = 4096;
// No links, which could lead anywhere, and no waiting on pipes.
const CAREFULLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Finds the IDE with the workspace open that started last. All values of a lockfile are checked. */
export async function findIde(search: IdeSearch): Promise<Ide | undefined> {
  const { lockFolder, transport, workspace, port, isAlive = isRunning } = search;
  const names = await readdir(lockFolder).catch(() => []);
  const ports = names.map(portOf).filter((one) => one !== undefined && (port === undefined || one === port));
  const files = await Promise.all(ports.map((one) => readLockfile(lockFolder, one as number)));
  const here = [resolve(workspace), await realpath(workspace).catch(() => workspace)];
  const [newest] = files
    .filter((file) => file !== undefined)
    .filter((file) => file.transport === transport && isAlive(file.pid))
    .filter((file) => file.folders.some((folder) => here.some((path) => contains(folder, path))))
    .sort((one, other) => other.changedAt - one.changedAt);
  return newest;
}

function portOf(name: string): number | undefined {
  const port = Number(/^([1-9]\d{0,4})\.lock$/.exec(name)?.[1]);
  return port <= 65535 ? port : undefined;
}

async function readLockfile(
  folder: string,
  port: number,
): Promise<(Lockfile & { readonly changedAt: number }) | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(join(folder, `${port}.lock`), CAREFULLY);
    const {
      mtimeMs: changedAt,
      uid,
      size,
    } = await file.stat().then((stat) => {
      if (!stat.isFile()) throw new Error('not a file');
      return stat;
    });
    // A file of another user could direct calls to a program of that user.
    const foreign = process.getuid !== undefined && uid !== process.getuid();
    if (foreign || size > MAX_BYTES) return undefined;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
    const content = parseJson(buffer.toString('utf8', 0, bytesRead), { maxDepth: MAX_DEPTH });
    const lockfile = checked(content, port);
    return lockfile && { ...lockfile, changedAt };
  } catch {
    return undefined; // Incomplete, deleted or invalid files are ignored.
  } finally {
    await file?.close();
  }
}

function checked(content: Json, port: number): Lockfile | undefined {
  if (!isObject(content)) return undefined;
  const { pid, workspaceFolders, ideName, transport, authToken } = content;
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid < 1) return undefined;
  if (!Array.isArray(workspaceFolders) || workspaceFolders.length > MAX_FOLDERS) return undefined;
  const folders = workspaceFolders.filter((one): one is string => typeof one === 'string' && isAbsolute(one));
  const token = authToken === undefined || authToken === '' ? undefined : authToken;
  if (token !== undefined && !isToken(token)) return undefined;
  const name = typeof ideName === 'string' ? ideName.replace(/[^\p{L}\p{N} ._-]/gu, '').slice(0, MAX_NAME_CHARS) : '';
  // Older IDEs name no transport and use SSE.
  return { port, pid, name, folders, token, transport: transport === 'ws' ? 'ws' : 'sse' };
}

/** Returns true for printable text on one line. Other text could add an HTTP header. */
const isToken = (value: Json): value is string =>
  typeof value === 'string' && value.length <= MAX_TOKEN_CHARS && /^[\x21-\x7e]+$/.test(value);

function contains(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM'; // The process exists and belongs to another user.
  }
}
