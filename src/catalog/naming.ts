import { createHash } from 'node:crypto';

const MAX_CHARS = 64;
const SUFFIX_CHARS = 8;

/** The name a tool has for everybody outside: `mcp__server__tool`, with a suffix where it had to be changed. */
export function publicName(server: string, tool: string): string {
  const plain = `mcp__${server}__${tool}`;
  const isFine = /^[A-Za-z0-9_-]*$/.test(plain) && plain.length <= MAX_CHARS;
  return isFine ? plain : distinctName(server, tool);
}

/** The same with a suffix in any case. `more` tells apart what has server and tool in common. */
export function distinctName(server: string, tool: string, ...more: readonly string[]): string {
  const safe = `mcp__${server}__${tool}`.replace(/[^A-Za-z0-9_-]/gu, '-');
  return `${safe.slice(0, MAX_CHARS - SUFFIX_CHARS - 1)}_${fingerprint([server, tool, ...more])}`;
}

// As JSON, where every text has a spelling of its own: half a surrogate pair, too, and whatever would separate parts.
const fingerprint = (parts: readonly string[]) =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, SUFFIX_CHARS);
