import { basename } from 'node:path';
import type { JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';

/** A server named by its command or URL alone, on the command line. */
export interface AdHocServer {
  readonly name: string;
  readonly entry: JsonObject;
}

/** `npx -y server-everything :: echo message=hi`: what to start, then what to call there. */
export function splitCommand(words: readonly string[]): {
  readonly server: AdHocServer;
  readonly call: readonly string[];
} {
  const at = words.indexOf('::');
  const [command, ...args] = at < 0 ? [] : words.slice(0, at);
  if (command === undefined || at === words.length - 1) {
    throw new HeddleError('USAGE_INVALID', 'After `--` comes the command of a server, then `::`, then a tool.', {
      fix: 'Write for example: heddle call -- npx -y @modelcontextprotocol/server-everything :: echo message=hi',
    });
  }
  return { server: { name: nameOfCommand(command, args), entry: { command, args } }, call: words.slice(at + 1) };
}

export function isUrl(word: string): boolean {
  return /^https?:\/\//i.test(word);
}

export function serverAt(url: string): AdHocServer {
  if (!URL.canParse(url)) throw new HeddleError('USAGE_INVALID', `${url} is not a URL.`);
  const { hostname } = new URL(url);
  const [label = 'server'] = /[a-z]/i.test(hostname) ? hostname.split('.') : [hostname];
  return { name: safe(label), entry: { type: 'http', url } };
}

/** The package or program, without scope and version: `@x/server-time@1` is `server-time`. */
function nameOfCommand(command: string, args: readonly string[]): string {
  const runsOthers = /^(npx|bunx|uvx|pnpm|yarn|node|deno|python3?)$/.test(basename(command));
  const said = (runsOthers && args.find((word) => !word.startsWith('-'))) || command;
  return safe(
    basename(said)
      .replace(/(?<=.)@.*$/, '')
      .replace(/\.[a-z]+$/, ''),
  );
}

// Two letters in front keep it clear of the names that Heddle has reserved for itself.
function safe(label: string): string {
  const name = label.replace(/[^A-Za-z0-9_-]/g, '-') || 'server';
  return /^(heddle|workflow)/.test(name) ? `a-${name}` : name;
}
