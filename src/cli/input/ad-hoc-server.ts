import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { nameOfCommand, nameOfUrl } from '../edit/derive-name.ts';

/** A server that is given on the command line, by its command or its URL. */
export interface AdHocServer {
  readonly name: string;
  readonly entry: JsonObject;
}

/** Splits `npx -y server-everything :: echo message=hi` into the server's command and the call. */
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

export function serverAt(url: string, headers?: JsonObject): AdHocServer {
  if (!URL.canParse(url)) throw new HeddleError('USAGE_INVALID', `${url} is not a URL.`);
  return { name: nameOfUrl(url), entry: { type: 'http', url, ...(headers && { headers }) } };
}
