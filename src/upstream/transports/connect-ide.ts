import { join, resolve } from 'node:path';
import type { RemoteEntry } from '../../config/schema/schema.ts';
import { UpstreamError } from '../../core/errors.ts';
import { userHomeOf } from '../../files/home-folder.ts';
import type { Connect } from '../connection.ts';
import { connectSse } from './connect-sse.ts';
import { connectWs } from './connect-ws.ts';
import type { HttpPool } from './http-pool.ts';
import { findIde, type Ide } from './ide-lockfile.ts';

export interface IdeContext {
  readonly pool: HttpPool;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder that the IDE must have open. */
  readonly workspace: string;
}

const TOKEN_HEADER = 'X-Claude-Code-Ide-Authorization';

/** Connects to the IDE that has the workspace open. Each connect searches again, because a restart changes the port. */
export function connectIde(entry: RemoteEntry, { pool, env, workspace }: IdeContext): Connect {
  const transport = entry.type === 'ws-ide' ? 'ws' : 'sse';
  const lockFolder = lockFolderOf(entry, env);
  return async function connectIde(options) {
    const port = Number(new URL(entry.url).port) || undefined;
    const ide = lockFolder && (await findIde({ lockFolder, transport, workspace, port }));
    if (!ide) throw noIde(options.server, { lockFolder, workspace, port });
    const token = ide.token === undefined ? {} : { [entry.ide?.tokenHeader ?? TOKEN_HEADER]: ide.token };
    const found = { ...entry, url: addressOf(ide, entry), headers: { ...entry.headers, ...token } };
    return (transport === 'ws' ? connectWs(found) : connectSse(found, pool))(options);
  };
}

/** Returns the URL of the IDE, always on 127.0.0.1. */
function addressOf({ port }: Ide, { type, url }: RemoteEntry): string {
  const { pathname, search } = new URL(url);
  if (type === 'ws-ide') return `ws://127.0.0.1:${port}${pathname}${search}`;
  return `http://127.0.0.1:${port}${pathname === '/' ? '/sse' : pathname}${search}`;
}

/** Returns the folder of lockfiles; undefined if it is below the user's home folder and the environment has none. */
function lockFolderOf({ ide }: RemoteEntry, env: IdeContext['env']): string | undefined {
  const home = userHomeOf(env);
  const written = ide?.lockFolder ?? (env.CLAUDE_CONFIG_DIR ? join(env.CLAUDE_CONFIG_DIR, 'ide') : '~/.claude/ide');
  if (!/^~(?=\/|$)/.test(written)) return resolve(written);
  return home === undefined ? undefined : resolve(written.replace('~', () => home));
}

function noIde(
  server: string,
  search: { readonly lockFolder: string | undefined; readonly workspace: string; readonly port: number | undefined },
): UpstreamError {
  const { lockFolder, workspace, port } = search;
  const subject = port === undefined ? 'No running IDE' : `No running IDE on port ${port}`;
  const message = `${subject} has ${workspace} open according to ${lockFolder ?? 'an environment without HOME'}, so ${server} cannot be reached.`;
  return new UpstreamError('UPSTREAM_UNREACHABLE', message, {
    delivered: 'no',
    details: { server, lockFolder, workspace },
    fix: 'Open the folder in the IDE, with its MCP extension enabled.',
  });
}
