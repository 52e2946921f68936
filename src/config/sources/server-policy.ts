import type { JsonObject } from '../../core/call.ts';
import { cutText } from '../../core/text/cut-text.ts';
import type { PolicyVerdict, Problem, Scope, SourceLocation } from '../config.ts';
import { helperCommand } from '../schema/helper-command.ts';
import type { ServerEntry } from '../schema/schema.ts';
import { matchesUrl } from '../schema/url-pattern.ts';

const MAX_SHOWN_CHARS = 500;

/** A rule of `allowedServers` or `deniedServers`. */
export interface PolicyRule {
  readonly kind: 'serverUrl' | 'serverCommand' | 'serverName';
  readonly value: string | readonly string[];
  /** The names of the variables that an allowed command may have in its `env`. */
  readonly env?: readonly string[];
  /** `deniedServers[0].serverUrl` */
  readonly key: string;
  readonly at: SourceLocation;
}

/** The lists of one managed file. Without `allowed`, every server is allowed that is not denied. */
export interface ServerPolicy {
  readonly allowed?: { readonly rules: readonly PolicyRule[]; readonly at: SourceLocation };
  readonly denied: readonly PolicyRule[];
  readonly at: SourceLocation;
}

/** A server that is compared with the lists, as it is written and as it would be started. */
export interface Judged {
  readonly name: string;
  readonly entry: ServerEntry;
  readonly written?: JsonObject;
}

export type Judge = (server: Judged) => PolicyVerdict;

/** Makes a judge of the lists of one file. Deny wins; if there is an `allowed` list, only its servers are allowed. */
export function judgeBy({ allowed, denied, at }: ServerPolicy): Judge {
  // Any name can be chosen freely, so a name rule counts only if no rule of the entry's own kind exists.
  const kinds = new Set<PolicyRule['kind'] | undefined>(allowed?.rules.map(({ kind }) => kind));
  return (server) => {
    const denying = denied.find(
      (rule) => matches(rule, server, 'deny') || isWritten(rule, server) || matchesHelper(rule, server),
    );
    if (denying !== undefined) return { effect: 'block', rule: denying.key, at: denying.at };
    if (allowed === undefined) return { effect: 'allow', rule: 'nothing denies it', at };
    const nameCounts = !kinds.has(kindFor(server.entry));
    const matching = allowed.rules.filter(
      (rule) =>
        (rule.kind !== 'serverName' || nameCounts) && (matches(rule, server, 'allow') || isWritten(rule, server)),
    );
    const allowing = matching.find((rule) => unlistedVariables(rule, server).length === 0);
    if (allowing !== undefined) {
      const refused = refusedHelper(allowed.rules, allowing, server);
      const { key, at } = allowing;
      return refused === undefined ? { effect: 'allow', rule: key, at } : { effect: 'block', rule: refused, at };
    }
    const [nearest] = matching;
    if (nearest === undefined) return { effect: 'block', rule: 'allowedServers does not name it', at: allowed.at };
    return { effect: 'block', rule: describeUnlisted(nearest, server), at: nearest.at };
  };
}

/** Makes a judge that blocks every server, because managed settings cannot be read. */
export function blockAll({ message, at }: Problem): Judge {
  const rule = `the managed settings cannot be read: ${message}`;
  return () => ({ effect: 'block', rule, ...(at && { at }) });
}

/** Returns the verdict of all managed files: each of them may block. Servers of an embedding program are not judged. */
export function policyVerdict(judges: readonly Judge[], server: Judged, scope: Scope): PolicyVerdict | undefined {
  if (scope === 'sdk') return undefined;
  const verdicts = judges.map((judge) => judge(server));
  return verdicts.find(({ effect }) => effect === 'block') ?? verdicts[0];
}

/** Returns the kind of rule for an entry's type; an in-process server has only a name. */
function kindFor(entry: ServerEntry): PolicyRule['kind'] | undefined {
  if (entry.type === 'sdk') return undefined;
  return entry.type === 'stdio' ? 'serverCommand' : 'serverUrl';
}

/** Returns the variables of an entry that a command rule does not list. A variable can make a program load other code. */
function unlistedVariables({ kind, env = [] }: PolicyRule, { entry }: Judged): readonly string[] {
  if (kind !== 'serverCommand' || entry.type !== 'stdio') return [];
  return Object.keys(entry.env).filter((name) => !env.includes(name));
}

function describeUnlisted(rule: PolicyRule, server: Judged): string {
  const { key, env = [] } = rule;
  const unlisted = unlistedVariables(rule, server);
  const names = unlisted.map((name) => `\`${name}\``).join(', ');
  const wanted = [...env, ...unlisted].map((name) => JSON.stringify(name)).join(', ');
  const reason = `${key.replace(/\.serverCommand$/, '')} allows this command, but its \`env\` does not list ${names}`;
  return `${reason} (to allow ${unlisted.length > 1 ? 'them' : 'it'}: \`"env": [${wanted}]\`)`;
}

/** Returns the command of an entry's `headersHelper`. It runs on this machine, like that of a local server. */
function helperOf({ entry }: Judged): readonly string[] | undefined {
  return 'headersHelper' in entry && entry.headersHelper !== undefined ? helperCommand(entry.headersHelper) : undefined;
}

function matchesHelper({ kind, value }: PolicyRule, server: Judged): boolean {
  const helper = helperOf(server);
  return kind === 'serverCommand' && helper !== undefined && sameArguments(value, helper);
}

/** Returns why the `headersHelper` of an allowed server is refused. A URL rule allows an address, never a command. */
function refusedHelper(rules: readonly PolicyRule[], { kind, key }: PolicyRule, server: Judged): string | undefined {
  const helper = helperOf(server);
  if (helper === undefined || rules.some((rule) => matchesHelper(rule, server))) return undefined;
  if (kind === 'serverName' && !rules.some((rule) => rule.kind === 'serverCommand')) return undefined;
  const rule = cutText(`{"serverCommand": ${JSON.stringify(helper)}}`, MAX_SHOWN_CHARS);
  return `${key} allows this server, but no rule allows its \`headersHelper\` (to allow it: ${rule})`;
}

function matches({ kind, value }: PolicyRule, { name, entry }: Judged, effect: 'allow' | 'deny'): boolean {
  if (kind === 'serverName') return value === name;
  if (kind === 'serverCommand') return entry.type === 'stdio' && sameArguments(value, [entry.command, ...entry.args]);
  return addressesOf(entry).some((url) => matchesUrl(String(value), url, effect));
}

/** Returns the addresses that an entry connects to. For an IDE that is this machine, at a port that a lock file names. */
function addressesOf(entry: ServerEntry): readonly string[] {
  if (!('url' in entry)) return [];
  if (!isIde(entry)) return [entry.url];
  const { port, pathname, search } = new URL(entry.url);
  const [scheme, root] = entry.type === 'ws-ide' ? ['ws', '/'] : ['http', '/sse'];
  const path = `${pathname === '/' ? root : pathname}${search}`;
  return ['127.0.0.1', 'localhost'].map((host) => `${scheme}://${host}:${port || 0}${path}`);
}

const isIde = ({ type }: ServerEntry): boolean => type === 'sse-ide' || type === 'ws-ide';

/**
 * Returns true if the rule and the file agree before expansion. The comparison is exact: a wildcard must not
 * allow `https://${X}.example.com/`, which can become any address. Other programs' files may keep keys that the
 * entry's type does not have. Those keys are never judged, nor is the `url` of an IDE: it is not its address.
 */
function isWritten({ kind, value }: PolicyRule, { entry, written = {} }: Judged): boolean {
  if (kind !== kindFor(entry) || isIde(entry)) return false;
  const { command, args, url } = written;
  if (kind === 'serverCommand') return sameArguments(value, [command, ...(Array.isArray(args) ? args : [])]);
  return value === url;
}

function sameArguments(rule: PolicyRule['value'], found: readonly unknown[]): boolean {
  return Array.isArray(rule) && rule.length === found.length && rule.every((text, index) => text === found[index]);
}
