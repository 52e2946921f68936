import { readConfig } from '../../config/read-config.ts';
import type { Call } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import type { Heddle } from '../../heddle.ts';
import type { HeddleOptions } from '../../open-heddle.ts';
import type { AdHocServer } from '../input/ad-hoc-server.ts';

/** What was typed on one line. */
export interface Typed {
  readonly server?: AdHocServer;
  readonly words: readonly string[];
}

/** The same failure, with advice for somebody who typed the call on one line. */
export function advised(error: HeddleError, { server, words }: Typed): HeddleError {
  const asText = error.code === 'INPUT_INVALID' && words.some((word) => /^[^:=]+=/.test(word));
  if (asText) {
    const how = 'Here key=value is text; write key:=value for numbers, booleans, lists and objects.';
    return reworded(error, { fix: `${error.fix} ${how}` });
  }
  return server ? aboutAdHoc(error, server) : error;
}

/** Such a server is in no file, and no other command knows it. */
function aboutAdHoc(error: HeddleError, { entry: { url } }: AdHocServer): HeddleError {
  const { code, details, fix } = error;
  if (code === 'AUTH_NEEDED') return reworded(error, { fix: "Add `--header 'Authorization: Bearer …'`." });
  if (fix.includes('`connectTimeoutMs`')) {
    return reworded(error, { fix: 'Raise `connect.timeoutMs` in heddle.json if it needs longer to start.' });
  }
  if (code === 'UPSTREAM_UNREACHABLE') {
    if (typeof url !== 'string') return reworded(error, { fix: 'Check the command, and run it by hand.' });
    const message = details.code === undefined ? error.message : `${hostOf(url)} cannot be reached (${details.code}).`;
    return reworded(error, { message, fix: 'Check the address, and that a server listens there.' });
  }
  if (fix.includes('`timeoutMs`')) return reworded(error, { fix: 'Call again, with a longer `--timeout`.' });
  if (fix.includes('`url`')) return reworded(error, { fix: 'Call the new address, if you trust it.' });
  if (!fix.includes('heddle doctor')) return error;
  const known =
    typeof url === 'string' ? 'Check that an MCP server answers there.' : 'Run the command by hand to see why.';
  return reworded(error, { fix: known });
}

const hostOf = (url: string): string => new URL(url).host;

/** Where it was called; the server where that was typed, too. */
export interface Called {
  readonly heddle: Heddle;
  readonly server?: AdHocServer | undefined;
}

const SHOWN_NAMES = 12;

/** A server that no other command knows has to say here what it has. */
async function unknownAt(
  server: AdHocServer,
  error: HeddleError,
  { call, heddle }: Pick<Called, 'heddle'> & { readonly call: Call },
): Promise<HeddleError> {
  const { items } = await heddle.catalog.list(call.caller, { server: server.name });
  const names = items.map(({ name, shownAs = name }) => shownAs);
  const wanted = call.name.slice(server.name.length + 1);
  const guess = closest(wanted, names);
  const more = names.length > SHOWN_NAMES ? `, and ${names.length - SHOWN_NAMES} more` : '';
  const all = names.length === 0 ? 'It has none.' : `It has ${names.slice(0, SHOWN_NAMES).join(', ')}${more}.`;
  const message = `This server has no tool named ${wanted}.`;
  return reworded(error, { message, fix: guess === undefined ? all : `Did you mean ${guess}?` });
}

/**
 * What went wrong, for the owner, who may know what others may not: that a name is there but hidden, and where the
 * rule stands that decided.
 */
export async function explained(error: HeddleError, call: Call, { heddle, server }: Called): Promise<HeddleError> {
  if (error.code !== 'NAME_UNKNOWN') return error;
  const { caller, name } = call;
  const hidden = await heddle.catalog.hiddenBy(caller, name);
  if (hidden) {
    const { rule, reason } = hidden;
    const [key = rule, pattern] = rule.split(': ');
    const fix = pattern === undefined ? `Change \`${key}\`` : `Take ${pattern} out of \`${key}\``;
    return reworded(error, {
      message: `${name} is hidden. ${reason}`,
      fix: `${fix} to have it back.`,
      details: { rule },
    });
  }
  if (server) return unknownAt(server, error, { call, heddle });
  const servers = await heddle.servers.list(caller);
  if (!servers.some((server) => server.name === name)) return error;
  return reworded(error, {
    message: `${name} is a server, not a tool.`,
    fix: `Run \`heddle list tools --server ${name}\` to see its tools, then \`heddle call ${name}.<tool>\`.`,
  });
}

/** The same failure, and where the rule is written that decided. */
export async function placed(error: HeddleError, options: HeddleOptions): Promise<HeddleError> {
  const { rule } = error.details;
  if (typeof rule !== 'string') return error;
  const [key = ''] = rule.split(': ');
  const origin = (await readConfig(options)).origins.get(key);
  if (!origin) return error;
  // Rules add up: any of these files may have it.
  const places = [origin, ...origin.shadowed].map(({ at }) => `${at.file}:${at.line}`);
  return reworded(error, { fix: `${error.fix} It is in ${places.join(' or ')}.` });
}

function reworded(error: HeddleError, said: Partial<Pick<HeddleError, 'message' | 'fix' | 'details'>>): HeddleError {
  const { code, message, fix, details, cause } = error;
  return new HeddleError(code, said.message ?? message, { fix, details, cause, ...said });
}
