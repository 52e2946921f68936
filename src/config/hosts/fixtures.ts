import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../core/call.ts';
import type { Imported } from './host-format.ts';
import { HOSTS, type HostName } from './hosts.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

/** The memory server that the files under test/hosts start. */
export const MEMORY = join(ROOT, 'node_modules/@modelcontextprotocol/server-memory/dist/index.js');

/** Returns a fixture file with the paths of this machine. */
export function hostFile(host: HostName, file: string): string {
  return readFileSync(join(ROOT, 'test/hosts', host, file), 'utf8').replaceAll('@ROOT@', ROOT);
}

export function importFixture(host: HostName, file: string): Imported {
  return HOSTS[host].from(hostFile(host, file), { file });
}

/** Reads a text with a host's format. */
export function read(host: HostName, text: string | object): Imported {
  return HOSTS[host].from(typeof text === 'string' ? text : JSON.stringify(text, null, 2), { file: 'file' });
}

/** Exports one server to a host's format, and imports it again. */
export function write(host: HostName, entry: JsonObject, existing?: string) {
  const exported = HOSTS[host].to({ x: entry }, existing, { file: 'file' });
  return { ...exported, back: HOSTS[host].from(exported.text, { file: 'file' }).servers.x };
}
