import type { Target } from '../core/call.ts';
import { matchesGlob, mayFit } from '../core/text/match-glob.ts';
import { foldedForms, foldUri, whyAmbiguous } from '../core/text/uri-form.ts';

export const isResource = ({ kind }: Target): boolean => kind === 'resource' || kind === 'template';

/** Returns true if servers may read the URI of a target as another one. */
export function isAmbiguous(target: Target): boolean {
  if (!isResource(target)) return false;
  const known = ambiguous.get(target);
  if (known !== undefined) return known;
  const found = whyAmbiguous(withoutVariables(target)) !== undefined;
  ambiguous.set(target, found);
  return found;
}

const ambiguous = new WeakMap<Target, boolean>();

// A variable of a template stands for a value that is checked when it is known.
const withoutVariables = ({ kind, name }: Target) => (kind === 'template' ? name.replace(/\{[^{}]*\}/g, 'x') : name);

/** The prefixes that a rule may put before a URI; the empty one is the URI alone. */
const prefixesOf = (server: string) => ['', `mcp__${server}__`, `${server}.`, `heddle://${server}/`];

/** A pattern of a rule that denies, asks or excludes. */
export interface Restriction {
  readonly pattern: string;
  /** The pattern in the form in which URIs are compared. */
  readonly folded: string;
}

const restrictions = new WeakMap<readonly string[], readonly Restriction[]>();

/** Folds the patterns of a list, once for each list. */
export function restrictionsOf(patterns: readonly string[]): readonly Restriction[] {
  const known = restrictions.get(patterns);
  if (known) return known;
  const found = patterns.map((pattern) => ({ pattern, folded: foldUri(pattern) }));
  restrictions.set(patterns, found);
  return found;
}

/** The folded names of a resource at one server. */
interface FoldedNames {
  readonly names: readonly string[];
  /** The beginnings up to the scheme; none unless the URI is ambiguous. */
  readonly starts: readonly string[];
}

const foldedNames = new WeakMap<Target, Map<string, FoldedNames>>();

/**
 * Returns true if a rule that denies, asks or excludes holds for a resource. It holds for every spelling of the URI
 * that it names. An ambiguous URI is covered by every rule that names a URI of the same scheme.
 */
export function restrictsResource({ folded }: Restriction, target: Target, server: string): boolean {
  if (!isResource(target)) return false;
  const { names, starts } = foldedNamesOf(target, server);
  return names.some((name) => matchesGlob(folded, name)) || starts.some((start) => mayFit(folded, start));
}

function foldedNamesOf(target: Target, server: string): FoldedNames {
  const byServer = foldedNames.get(target) ?? new Map<string, FoldedNames>();
  const known = byServer.get(server);
  if (known) return known;
  const forms = foldedForms(target.name);
  const [scheme = ''] = /^[^:/?#]*:/.exec(forms[0] ?? '') ?? [];
  const prefixes = prefixesOf(server);
  const found = {
    names: [
      ...prefixes.flatMap((prefix) => forms.map((form) => foldUri(`${prefix}${form}`))),
      ...viewNames(forms, server),
    ],
    starts: isAmbiguous(target) ? prefixes.map((prefix) => foldUri(`${prefix}${scheme}`)) : [],
  };
  foldedNames.set(target, byServer.set(server, found));
  return found;
}

/** Returns the folded names that `ui://` URIs have if several servers have them. */
const viewNames = (forms: readonly string[], server: string): readonly string[] =>
  forms.flatMap((form) => (form.startsWith('ui:/') ? foldUri(`ui://${server}/${form.slice('ui:/'.length)}`) : []));

/** Returns true if a pattern includes an ambiguous URI knowingly: it is that URI, or covers all of the server. */
export function includesAmbiguous(pattern: string, { servers }: Target): boolean {
  if (!pattern.includes('*')) return true;
  const covers = (prefix: string) =>
    (prefix.endsWith('.') ? pattern.includes('.') : true) && matchesGlob(pattern, prefix);
  return servers.every((server) => prefixesOf(server).some(covers));
}
