import type { Config, SourceLocation } from '../../config/config.ts';
import type { Call, Caller, TargetKind } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import type { AdHocServer } from '../input/ad-hoc-server.ts';
import { unlessForbidden, visibleServers } from '../remote/visible-servers.ts';

/** Adapts the fix of an error to a call that was typed on the command line. */
export function advised(error: HeddleError, server: AdHocServer | undefined): HeddleError {
  const [, example] = /^Send for example ([\s\S]+)\.$/.exec(error.fix) ?? [];
  if (example !== undefined) return reworded(error, { fix: `Write for example ${asWords(example)}.` });
  if (error.code === 'UPSTREAM_REFUSED' && error.details.rpc !== undefined) {
    return reworded(error, { message: `${error.details.server} answered with an error: ${error.message}` });
  }
  return server ? aboutAdHoc(error, server) : error;
}

/** Writes a JSON object as arguments of `heddle call`. A server chooses the names, so they are quoted, too. */
function asWords(example: string): string {
  const members = Object.entries(JSON.parse(example));
  if (members.some(([key]) => /[:=]|^-|^__proto__$/.test(key))) return `--args ${quoted(example)}`;
  return members.map(([key, value]) => asWord(key, value)).join(' ') || 'no arguments';
}

function asWord(key: string, value: unknown): string {
  const isText = typeof value !== 'object';
  const text = isText ? String(value).replace(/^@/, '@@') : JSON.stringify(value);
  const sign = isText ? '=' : ':=';
  return quoted(key) === key ? `${key}${sign}${quoted(text)}` : quoted(`${key}${sign}${text}`);
}

/** Quotes a text for a shell, if it needs that. */
const quoted = (text: string) => (/^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Adapts an error of an ad-hoc server, which is in no file and unknown to other commands. */
function aboutAdHoc(error: HeddleError, { entry: { url } }: AdHocServer): HeddleError {
  const { code, details, fix } = error;
  if (code === 'AUTH_NEEDED') {
    const fix = "Add `--header 'Authorization: Bearer …'`, or `heddle add` the server and run `heddle auth login`.";
    return reworded(error, { fix });
  }
  if (fix.includes('`connectTimeoutMs`')) {
    return reworded(error, { fix: 'Raise `connect.timeoutMs` in heddle.json if it needs longer to start.' });
  }
  if (code === 'UPSTREAM_UNREACHABLE') return reworded(error, { fix: asTyped(fix) });
  if (fix.includes('`timeoutMs`')) return reworded(error, { fix: 'Call again, with a longer `--timeout`.' });
  if (details.target !== undefined) return reworded(error, { fix: 'Call the new address, if you trust it.' });
  if (fix.includes('`url`')) return reworded(error, { fix: asTyped(fix) });
  if (!fix.includes('heddle doctor')) return error;
  const known =
    typeof url === 'string' ? 'Check that an MCP server answers there.' : 'Run the command by hand to see why.';
  return reworded(error, { fix: known });
}

/** Rewrites a fix that names a field of an entry, for an address or a command that was typed. */
const asTyped = (fix: string): string =>
  fix
    .replace(/^Check that `url` of \S+ is/, 'Check that this is')
    .replace(/`url` of [^\s.;]+|its `url`/g, 'the address')
    .replace(/^Set (.+) in `env` of .*$/, 'Add `env $1=…` before the command, or `heddle add` the server with `--env`.')
    .replace(
      /^Add `"(\w+)": .*$/,
      'Add `env $1="$$$1"` before the command: servers get no other variables of this shell.',
    )
    .replace(/^(Check|Correct)\b.*`(?:command|args)`.* of .*$/, 'Correct the command as its documentation says.')
    .replace(/`command` of [^\s,]+|`(?:args|env)` of [^\s:.]+/g, 'the command');

/** The open Heddle, and the ad-hoc server of the call. */
export interface CallSite {
  readonly heddle: CommandHeddle;
  readonly server?: AdHocServer | undefined;
}

const SHOWN_NAMES = 12;

/** Lists the tools of an ad-hoc server in the error: no other command can list them. */
async function unknownAt(
  server: AdHocServer,
  error: HeddleError,
  { call, heddle }: Pick<CallSite, 'heddle'> & { readonly call: Call },
): Promise<HeddleError> {
  const { items } = await heddle.catalog.list(call.caller, { server: server.name });
  const names = items.map(({ name, shownAs = name }) => shownAs);
  const wanted = call.name.slice(server.name.length + 1);
  const guess = closest(wanted, names);
  const more = names.length > SHOWN_NAMES ? `, and ${names.length - SHOWN_NAMES} more` : '';
  const all =
    names.length === 0 ? 'It has none.' : `It has ${names.slice(0, SHOWN_NAMES).map(quoteName).join(', ')}${more}.`;
  const message = `This server has no tool named ${wanted}.`;
  return reworded(error, { message, fix: guess === undefined ? all : `Did you mean ${quoteName(guess)}?` });
}

/** Returns the error for a tool that a rule hides, if the caller is the owner. For others it does not exist. */
export async function deniedToOwner(
  heddle: Pick<CommandHeddle, 'catalog'>,
  caller: Caller,
  name: string,
): Promise<HeddleError | undefined> {
  const hidden = await unlessForbidden(heddle.catalog.hiddenBy(caller, name));
  if (!hidden) return undefined;
  const { rule, reason } = hidden;
  const [key = rule, pattern] = rule.split(': ');
  const fix = pattern === undefined ? `Change \`${key}\`` : `Take ${pattern} out of \`${key}\``;
  return new HeddleError('PERMISSION_DENIED', `${name} is hidden. ${reason}`, {
    fix: `${fix} to have it back.`,
    details: { rule },
  });
}

/**
 * Explains NAME_UNKNOWN to the owner: the name is hidden by a rule, belongs to a server, or does not exist.
 * Other callers never learn that a hidden name exists.
 */
export async function explained(error: HeddleError, call: Call, { heddle, server }: CallSite): Promise<HeddleError> {
  if (error.code !== 'NAME_UNKNOWN') return error;
  const { caller, name } = call;
  const denied = await deniedToOwner(heddle, caller, name);
  if (denied) return denied;
  if (server) return unknownAt(server, error, { call, heddle });
  const other = await heddle.catalog.describe(caller, name, call.signal).catch(() => undefined);
  if (other && other.kind !== call.kind) return reworded(error, otherKind(name, other.kind));
  const servers = await visibleServers(heddle, caller);
  if (!servers?.some((server) => server.name === name)) return error;
  const command = call.kind === 'prompt' ? 'prompt' : 'call';
  return reworded(error, {
    message: `${name} is a server, not a ${call.kind}.`,
    fix: `Run \`heddle list ${call.kind}s --server ${name}\` to see its ${call.kind}s, then \`heddle ${command} ${name}.<${call.kind}>\`.`,
  });
}

/** Names the command for an entry of another kind. */
const otherKind = (name: string, kind: TargetKind) => ({
  message: `${name} is a ${kind}.`,
  fix: `Run \`heddle ${kind === 'tool' ? 'call' : kind === 'prompt' ? 'prompt' : 'read'} ${name}\`.`,
});

/** Adds the location of the deciding rule to the fix. */
export function withRuleLocation(error: HeddleError, config: Pick<Config, 'origins' | 'policies'>): HeddleError {
  const { rule } = error.details;
  const places = typeof rule === 'string' ? placesOf(rule, config) : [];
  if (places.length === 0) return error;
  const locations = places.map(({ file, line }) => `${file}:${line}`);
  return reworded(error, { fix: `${error.fix} The rule is in ${locations.join(' or ')}.` });
}

/** Returns the place of a policy, or those of the setting that holds a rule or hook. */
function placesOf(rule: string, { origins, policies = [] }: Pick<Config, 'origins' | 'policies'>): SourceLocation[] {
  const [key = '', ...name] = rule.replace(/^(hooks\.\w+) \(.*\)$/s, '$1').split(': ');
  if (key === 'policies') return policies.flatMap((one) => (one.name === name.join(': ') ? [one.at] : []));
  const origin = origins.get(key);
  // Rules of all files are combined: any of them may contain it.
  return origin ? [origin, ...origin.shadowed].map(({ at }) => at) : [];
}

function reworded(error: HeddleError, changes: Partial<Pick<HeddleError, 'message' | 'fix' | 'details'>>): HeddleError {
  const { code, message, fix, details, cause } = error;
  return new HeddleError(code, changes.message ?? message, { fix, details, cause, ...changes });
}
