import { previewValue } from '../../config/edit/preview.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import type { Input } from '../command.ts';
import { nameOfCommand, nameOfUrl } from '../edit/derive-name.ts';
import { headersOf } from './read-pairs.ts';

/** A server that is given on the command line, by its command or its URL. */
export interface AdHocServer {
  readonly name: string;
  readonly entry: JsonObject;
}

const EXAMPLE = 'Write for example: heddle call -- npx -y @modelcontextprotocol/server-everything :: echo message=hi';

/** Returns the fix of a call without a tool: the command that lists the tools of its server. Secrets are redacted. */
export function listToolsFix(server: readonly string[]): string {
  const shown = (previewValue(server) as readonly Json[]).map(String);
  return `Run \`${quoteCommand(['heddle', 'list', 'tools', ...shown])}\` to see them.`;
}

/** Splits `npx -y server-everything :: echo message=hi` into the server's command and the call. */
export function splitCommand(words: readonly string[]): {
  readonly server: AdHocServer;
  readonly call: readonly string[];
} {
  const at = words.indexOf('::');
  const ofServer = at < 0 ? words : words.slice(0, at);
  const [command, ...args] = ofServer;
  if (command === undefined || at < 0 || at === words.length - 1) {
    throw new HeddleError('USAGE_INVALID', 'After `--` comes the command of a server, then `::`, then a tool.', {
      fix: at > 0 ? listToolsFix(['--', ...ofServer]) : EXAMPLE,
    });
  }
  return { server: serverOf(command, args), call: words.slice(at + 1) };
}

/** Returns the server of `heddle list tools <url>` or `heddle list tools -- <command …>`; undefined without either. */
export function serverToList(input: Input): AdHocServer | undefined {
  const { positionals, rest } = input;
  const [, url] = positionals;
  const headers = headersOf(input);
  if (url !== undefined && /^https?:\/\//i.test(url) && rest === undefined) return serverAt(url, headers);
  if (url !== undefined) {
    throw new HeddleError('USAGE_INVALID', `${url} is one word too many.`, {
      fix: `Write \`--server ${url}\`, a URL, or the command of a server after \`--\`.`,
    });
  }
  if (headers) throw new HeddleError('USAGE_INVALID', '--header is for a server that is listed by its URL.');
  const [command, ...args] = rest ?? [];
  if (command !== undefined) return serverOf(command, args);
  if (rest === undefined) return undefined;
  throw new HeddleError('USAGE_INVALID', 'After `--` comes the command of a server.', {
    fix: 'Write for example: heddle list tools -- npx -y @modelcontextprotocol/server-everything',
  });
}

const serverOf = (command: string, args: readonly string[]): AdHocServer => ({
  name: nameOfCommand(command, args),
  entry: { command, args },
});

export function serverAt(url: string, headers?: JsonObject): AdHocServer {
  if (!URL.canParse(url)) throw new HeddleError('USAGE_INVALID', `${url} is not a URL.`);
  return { name: nameOfUrl(url), entry: { type: 'http', url, ...(headers && { headers }) } };
}
