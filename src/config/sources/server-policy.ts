import type { JsonObject } from '../../core/call.ts';
import type { PolicyVerdict, Problem, Scope, SourceLocation } from '../config.ts';
import type { ServerEntry } from '../schema/schema.ts';
import { matchesUrl } from '../schema/url-pattern.ts';

/** One line of a list. */
export interface PolicyRule {
  readonly kind: 'serverUrl' | 'serverCommand' | 'serverName';
  readonly value: string | readonly string[];
  /** The names of the variables that an allowed command may have in its `env`. */
  readonly env?: readonly string[];
  /** `deniedServers[0].serverUrl` */
  readonly key: string;
  readonly at: SourceLocation;
}

/** The lists of one managed file. Without `allowed` everything is allowed that is not denied. */
export interface ServerPolicy {
  readonly allowed?: { readonly rules: readonly PolicyRule[]; readonly at: SourceLocation };
  readonly denied: readonly PolicyRule[];
  readonly at: SourceLocation;
}

/** A server that the lists are asked about, as it is written and as it would be started. */
export interface Judged {
  readonly name: string;
  readonly entry: ServerEntry;
  readonly written?: JsonObject;
}

export type Judge = (server: Judged) => PolicyVerdict;

/** Asks the lists: deny wins, and where anything is allowed only that is. */
export function judgeBy({ allowed, denied, at }: ServerPolicy): Judge {
  // A name is a label that anybody can choose, so it counts only where nothing firmer is said.
  const firm = new Set<PolicyRule['kind'] | undefined>(allowed?.rules.map(({ kind }) => kind));
  return (server) => {
    const against = denied.find((rule) => matches(rule, server, 'deny') || isWritten(rule, server));
    if (against !== undefined) return { effect: 'block', rule: against.key, at: against.at };
    if (allowed === undefined) return { effect: 'allow', rule: 'nothing denies it', at };
    const nameCounts = !firm.has(firmKind(server.entry));
    const fitting = allowed.rules.filter(
      (rule) =>
        (rule.kind !== 'serverName' || nameCounts) && (matches(rule, server, 'allow') || isWritten(rule, server)),
    );
    const pro = fitting.find((rule) => unlistedVariables(rule, server).length === 0);
    if (pro !== undefined) return { effect: 'allow', rule: pro.key, at: pro.at };
    const [nearest] = fitting;
    if (nearest === undefined) return { effect: 'block', rule: 'allowedServers does not name it', at: allowed.at };
    return { effect: 'block', rule: describeUnlisted(nearest, server), at: nearest.at };
  };
}

/** Blocks everything: a rule that cannot be read must not mean that there is none. */
export function closedBecause({ message, at }: Problem): Judge {
  const rule = `the managed settings cannot be read: ${message}`;
  return () => ({ effect: 'block', rule, ...(at && { at }) });
}

/** What all managed files say together: each of them may block. */
export function policyVerdict(judges: readonly Judge[], server: Judged, scope: Scope): PolicyVerdict | undefined {
  if (scope === 'sdk') return undefined;
  const verdicts = judges.map((judge) => judge(server));
  return verdicts.find(({ effect }) => effect === 'block') ?? verdicts[0];
}

/** Returns the kind of rule that judges an entry by the key its type has; an in-process server has only a name. */
function firmKind(entry: ServerEntry): PolicyRule['kind'] | undefined {
  if (entry.type === 'sdk') return undefined;
  return entry.type === 'stdio' ? 'serverCommand' : 'serverUrl';
}

/** Returns the variables of an entry that a command rule does not list: almost any can make a program load other code. */
function unlistedVariables({ kind, env = [] }: PolicyRule, { entry }: Judged): readonly string[] {
  if (kind !== 'serverCommand' || entry.type !== 'stdio') return [];
  return Object.keys(entry.env).filter((name) => !env.includes(name));
}

function describeUnlisted(rule: PolicyRule, server: Judged): string {
  const { key, env = [] } = rule;
  const unlisted = unlistedVariables(rule, server);
  const names = unlisted.map((name) => `\`${name}\``).join(', ');
  const wanted = [...env, ...unlisted].map((name) => JSON.stringify(name)).join(', ');
  const which = `${key.replace(/\.serverCommand$/, '')} allows this command, but its \`env\` does not list ${names}`;
  return `${which} (to allow ${unlisted.length > 1 ? 'them' : 'it'}: \`"env": [${wanted}]\`)`;
}

function matches({ kind, value }: PolicyRule, { name, entry }: Judged, effect: 'allow' | 'deny'): boolean {
  if (kind === 'serverName') return value === name;
  if (kind === 'serverCommand') return entry.type === 'stdio' && sameArguments(value, [entry.command, ...entry.args]);
  return 'url' in entry && matchesUrl(String(value), entry.url, effect);
}

/**
 * Returns true if the rule and the file agree before expansion. The comparison is exact: a wildcard must not
 * allow `https://${X}.example.com/`, which can become any address. Other programs' files may keep keys that the
 * entry's type does not have. Those keys are never judged.
 */
function isWritten({ kind, value }: PolicyRule, { entry, written = {} }: Judged): boolean {
  if (kind !== firmKind(entry)) return false;
  const { command, args, url } = written;
  if (kind === 'serverCommand') return sameArguments(value, [command, ...(Array.isArray(args) ? args : [])]);
  return value === url;
}

function sameArguments(rule: PolicyRule['value'], found: readonly unknown[]): boolean {
  return Array.isArray(rule) && rule.length === found.length && rule.every((text, index) => text === found[index]);
}
