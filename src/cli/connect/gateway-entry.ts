import { readFile } from 'node:fs/promises';
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

/**
 * Returns the entry that starts this Heddle over stdio. Its paths are absolute: hosts start it in any folder. It names the
 * file of its key: other users can see arguments, and files of hosts are often readable or synchronised.
 */
export function launcherEntry(env: Readonly<Record<string, string | undefined>>, keyFile: string): JsonObject {
  const command = { command: process.execPath, args: [LAUNCHER, 'serve', '--stdio', '--host-key', keyFile] };
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

/** Returns the key in a host's entry if it has this name, is not revoked, and has a person. */
export async function findHostKey(name: string, entry: Json | undefined): Promise<string | undefined> {
  const used = await keyIn(entry);
  if (used === undefined) return undefined;
  return withAccess(async (access) => {
    const key = await access.keyOf(sha256(used));
    return key?.name === name && key.person ? used : undefined;
  });
}

/** Returns those of the entries whose key has no person: an earlier version connected them, or the key was revoked. */
export function withoutPerson<T>(entries: ReadonlyMap<T, Json>): Promise<ReadonlySet<T>> {
  if (entries.size === 0) return Promise.resolve(new Set());
  return withAccess(async (access) => {
    const without = new Set<T>();
    for (const [host, entry] of entries) {
      const used = await keyIn(entry);
      const key = used === undefined ? undefined : await access.keyOf(sha256(used));
      if (!key?.person) without.add(host);
    }
    return without;
  });
}

/** Finds the key of a host's entry: in a header of its URL, or in the file that its command names. */
async function keyIn(entry: Json | undefined): Promise<string | undefined> {
  const text = JSON.stringify(entry ?? null);
  const [, sent] = /Bearer (hk_[A-Za-z0-9_-]+)/.exec(text) ?? [];
  const [, file] = /"--host-key",("(?:[^"\\]|\\.)*")/.exec(text) ?? [];
  if (sent !== undefined || file === undefined) return sent;
  return (await readFile(String(JSON.parse(file)), 'utf8').catch(() => undefined))?.trim();
}

/** Creates the API key of a host, with the role `user` and a person. */
export const createHostKey = (name: string): Promise<string> =>
  withAccess((access) => access.createKey(localCaller(), { name, roles: ['user'], person: true }));

const MAX_NAMES = 9;
const namesLike = (name: string): readonly string[] => {
  const first = name.replace(/-\d$/, '');
  return [first, ...Array.from({ length: MAX_NAMES - 1 }, (_, at) => `${first}-${at + 2}`)];
};

/** Returns a name like this that no key has: the host uses its earlier key until its file is written. */
export const freeKeyName = (name: string): Promise<string> =>
  withAccess(async (access) => {
    const taken = new Set((await access.keys(localCaller())).map((key) => key.name));
    return namesLike(name).find((one) => !taken.has(one)) ?? name;
  });

/** Revokes the earlier keys of a host. */
export const revokeOtherKeys = (used: string): Promise<void> =>
  withAccess(async (access) => {
    for (const name of namesLike(used)) if (name !== used) await revokeIfThere(access, name);
  });

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
