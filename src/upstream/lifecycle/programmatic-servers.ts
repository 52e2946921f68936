import type { ServerConfig } from '../../config/config.ts';
import { TREATMENT_DEFAULTS } from '../../config/schema/defaults.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Serve } from '../transports/connect-in-memory.ts';

/** A server that lives in this program: an SDK server is `{ connect: (line) => server.connect(line) }`. */
export interface InProcessServer {
  readonly connect: Serve;
}

/** Servers that come with a program instead of a file, by name. */
export type ServersOption = Readonly<Record<string, JsonObject | InProcessServer>>;

// Whoever took this name would be called in its place, with its privileges.
export const FILESYSTEM = 'heddle-filesystem';

/** The in-process servers a program brings, by name. */
export function inProcessOf(servers: ServersOption): Map<string, Serve> {
  return new Map(
    Object.entries(servers).flatMap(([name, server]) => (isInProcess(server) ? [[name, server.connect]] : [])),
  );
}

export async function toServerConfigs(
  servers: ServersOption,
  scope: 'sdk' | 'command' | 'dynamic',
): Promise<readonly ServerConfig[]> {
  const configs = Object.entries(servers).map(async ([name, server]) => {
    if (name === FILESYSTEM) throw new HeddleError('CONFIG_INVALID', `The name ${name} is that of a built-in server.`);
    if (isInProcess(server)) return [inProcessServer(name, name, 'sdk')];
    const { parseServers } = await import('../../config/read/parse-servers.ts');
    return parseServers(scope, { [name]: server });
  });
  return (await Promise.all(configs)).flat();
}

/** An in-process server as configuration knows it. */
export const inProcessServer = (name: string, serves: string, scope: 'builtin' | 'sdk'): ServerConfig => ({
  name,
  scope,
  entry: { type: 'sdk', name: serves, ...TREATMENT_DEFAULTS },
  shadowed: [],
});

const isInProcess = (server: JsonObject | InProcessServer): server is InProcessServer =>
  typeof server.connect === 'function';
