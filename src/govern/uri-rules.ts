import type { Target } from '../core/call.ts';
import { fits, mayFit } from '../core/fits.ts';
import { foldedForms, foldUri, whyAmbiguous } from '../core/uri-form.ts';

export const isResource = ({ kind }: Target): boolean => kind === 'resource' || kind === 'template';

/** Whether servers may read the URI of a target as another one. */
export const isAmbiguous = (target: Target): boolean =>
  isResource(target) && whyAmbiguous(withoutVariables(target)) !== undefined;

// A variable of a template stands for a value that is checked when it is known.
const withoutVariables = ({ kind, name }: Target) => (kind === 'template' ? name.replace(/\{[^{}]*\}/g, 'x') : name);

/** The ways to name what a server has; an empty prefix is the URI alone. */
const prefixesOf = (server: string) => ['', `mcp__${server}__`, `${server}.`, `heddle://${server}/`];

/**
 * Whether a rule that denies, asks or excludes holds for a resource. It holds for every spelling of the URI that it
 * names. An ambiguous URI is covered by every rule that names a URI of the same scheme.
 */
export function restrictsResource(pattern: string, target: Target, server: string): boolean {
  if (!isResource(target)) return false;
  const rule = foldUri(pattern);
  const forms = foldedForms(target.name);
  const prefixes = prefixesOf(server);
  if (prefixes.some((prefix) => forms.some((form) => fits(rule, foldUri(`${prefix}${form}`))))) return true;
  if (!isAmbiguous(target)) return false;
  const [scheme = ''] = /^[^:/?#]*:/.exec(forms[0] ?? '') ?? [];
  return prefixes.some((prefix) => mayFit(rule, foldUri(`${prefix}${scheme}`)));
}

/** Whether a pattern that includes an ambiguous URI does so knowingly: it is that URI, or covers all of the server. */
export function includesAmbiguous(pattern: string, { servers }: Target): boolean {
  if (!pattern.includes('*')) return true;
  const covers = (prefix: string) => (prefix.endsWith('.') ? pattern.includes('.') : true) && fits(pattern, prefix);
  return servers.every((server) => prefixesOf(server).some(covers));
}
