import { createHash } from 'node:crypto';

const MAX_CHARS = 64;
const SUFFIX_CHARS = 8;

/** The name a tool has for everybody outside: `mcp__server__tool`. `distinct` tells apart what would else share a name. */
export function publicName(server: string, tool: string, distinct = false): string {
  const plain = `mcp__${server}__${tool}`;
  const safe = plain.replace(/[^A-Za-z0-9_-]/gu, '-');
  if (safe === plain && safe.length <= MAX_CHARS && !distinct) return plain;
  return `${safe.slice(0, MAX_CHARS - SUFFIX_CHARS - 1)}_${fingerprint(server, tool)}`;
}

// NUL cannot be part of a server's name, so no two pairs hash the same text.
const fingerprint = (server: string, tool: string) =>
  createHash('sha256').update(`${server}\0${tool}`).digest('hex').slice(0, SUFFIX_CHARS);
