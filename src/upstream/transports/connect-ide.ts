import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { RemoteEntry } from '../../config/schema/schema.ts';
import { UpstreamError } from '../../core/errors.ts';
import type { Connect } from '../connection.ts';
import { connectSse } from './connect-sse.ts';
import { connectWs } from './connect-ws.ts';
import type { HttpPool } from './http-pool.ts';
import { findIde, type Ide } from './ide-lockfile.ts';

export interface IdeContext {
  readonly pool: HttpPool;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder that the IDE has to have open. */
  readonly workspace: string;
}

const TOKEN_HEADER = 'X-Claude-Code-Ide-Authorization';

/** Speaks MCP to the IDE that has the workspace open. It is looked for at each connect: a restarted IDE is elsewhere. */
export function connectIde(entry: RemoteEntry, { pool, env, workspace }: IdeContext): Connect {
  const transport = entry.type === 'ws-ide' ? 'ws' : 'sse';
  const lockFolder = lockFolderOf(entry, env);
  return async function connectIde(options) {
    const port = Number(new URL(entry.url).port) || undefined;
    const ide = await findIde({ lockFolder, transport, workspace, port });
    if (!ide) throw noIde(options.server, { lockFolder, workspace, port });
    const token = ide.token === undefined ? {} : { [entry.ide?.tokenHeader ?? TOKEN_HEADER]: ide.token };
    const found = { ...entry, url: addressOf(ide, entry), headers: { ...entry.headers, ...token } };
    return (transport === 'ws' ? connectWs(found) : connectSse(found, pool))(options);
  };
}

/** Always on this machine, whatever the entry or the lockfile says. */
function addressOf({ port }: Ide, { type, url }: RemoteEntry): string {
  const { pathname, search } = new URL(url);
  if (type === 'ws-ide') return `ws://127.0.0.1:${port}${pathname}${search}`;
  return `http://127.0.0.1:${port}${pathname === '/' ? '/sse' : pathname}${search}`;
}

function lockFolderOf({ ide }: RemoteEntry, env: IdeContext['env']): string {
  const home = env.HOME || homedir();
  const written = ide?.lockFolder;
  if (written === undefined) return join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'ide');
  return resolve(written.replace(/^~(?=\/|$)/, home));
}

function noIde(
  server: string,
  search: { readonly lockFolder: string; readonly workspace: string; readonly port: number | undefined },
): UpstreamError {
  const { lockFolder, workspace, port } = search;
  const which = port === undefined ? 'No running IDE' : `No running IDE on port ${port}`;
  const message = `${which} has ${workspace} open, as far as ${lockFolder} says, so ${server} is not there.`;
  return new UpstreamError('UPSTREAM_UNREACHABLE', message, {
    delivered: 'no',
    details: { server, lockFolder, workspace },
    fix: 'Open the folder in the IDE, with its MCP extension enabled.',
  });
}
