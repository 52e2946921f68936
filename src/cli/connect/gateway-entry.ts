import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { homeFolder } from '../../files/home-folder.ts';
import { findGateway } from '../../gateway/running-gateway.ts';
import type { Access } from '../../heddle.ts';
import { localCaller } from '../local-caller.ts';
import { notice } from '../print/print-line.ts';
import { withHeddle } from '../with-heddle.ts';
import { sha256 } from './connect-record.ts';

const LAUNCHER = join(import.meta.dirname, '..', '..', '..', 'bin', 'heddle');

/** Returns the entry that starts this Heddle over stdio. Its paths are absolute: hosts start it in any folder. */
export function launcherEntry(env: Readonly<Record<string, string | undefined>>): JsonObject {
  const command = { command: process.execPath, args: [LAUNCHER, 'serve', '--stdio'] };
  return env.HEDDLE_HOME ? { ...command, env: { HEDDLE_HOME: homeFolder(env) } } : command;
}

/** Returns the entry of the gateway's URL. */
export const urlEntry = (url: string, key: string): JsonObject => ({
  type: 'http',
  url,
  headers: { Authorization: `Bearer ${key}` },
});

export interface GatewayAddress {
  readonly url: string;
  readonly isRunning: boolean;
}

const ANY_ADDRESS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };

/** Returns the URL of the running gateway, else the configured one. */
export async function gatewayAddress({ settings }: Pick<Config, 'settings'>): Promise<GatewayAddress> {
  const running = await findGateway(homeFolder(process.env), { report: notice });
  if (running !== undefined) return { url: running.url, isRunning: true };
  const { host, port } = settings.gateway;
  if (port === 0) {
    throw new HeddleError(
      'USAGE_INVALID',
      'The gateway is not running, and `gateway.port` is 0: its URL is not known.',
      {
        fix: 'Start it with `heddle up`, or set `gateway.port`.',
      },
    );
  }
  const name = ANY_ADDRESS[host] ?? (host.includes(':') ? `[${host}]` : host);
  return { url: `http://${name}:${port}/mcp`, isRunning: false };
}

/** Returns the key in a host's entry if it has this name and is not revoked. */
export function findHostKey(name: string, entry: Json | undefined): Promise<string | undefined> {
  const [, used] = /Bearer (hk_[A-Za-z0-9_-]+)/.exec(JSON.stringify(entry ?? null)) ?? [];
  if (used === undefined) return Promise.resolve(undefined);
  return withAccess(async (access) => ((await access.keyOf(sha256(used)))?.name === name ? used : undefined));
}

/** Creates the API key of a host, with the role `user`. An earlier one is revoked. */
export function createHostKey(name: string): Promise<string> {
  return withAccess(async (access) => {
    await revokeIfThere(access, name);
    return access.createKey(localCaller(), { name, roles: ['user'] });
  });
}

/** Revokes a host's key. Returns false if there was none. */
export const revokeHostKey = (name: string): Promise<boolean> => withAccess((access) => revokeIfThere(access, name));

async function revokeIfThere(access: Access, name: string): Promise<boolean> {
  const isThere = (await access.keys(localCaller())).some((key) => key.name === name && key.from === 'store');
  if (isThere) await access.revokeKey(localCaller(), name);
  return isThere;
}

// Keys need no server, and problems of the configuration are no concern of theirs.
const withAccess = <T>(use: (access: Access) => Promise<T>): Promise<T> =>
  withHeddle({ autoConnect: false, onProblems: () => undefined }, ({ access }) => use(access));
