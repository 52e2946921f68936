const PREFIX = 'mcp__';
const URI = /^[a-z][a-z0-9+.-]*:\S/i;

/** The forms of a rule, for messages. */
export const RULE_FORMS = '`mcp__server`, `mcp__server__tool`, `mcp__server__*` or the URI of a resource';

/** Returns true if a text can be a rule: a name, `*` only at the end of `mcp__server__*`, or a URI. */
export function isRulePattern(text: string): boolean {
  if (text.startsWith(PREFIX)) return isName(text.slice(PREFIX.length)) && !/\*(?!$)|(?<!__)\*$/.test(text);
  return URI.test(text);
}

/** Returns true for `server` and `server__tool`. One pattern for both would take quadratic time. */
function isName(text: string): boolean {
  const [server = ''] = /^[A-Za-z0-9_-]*/.exec(text) ?? [];
  if (server === text) return text !== '';
  const end = text.indexOf('__', 1);
  return end > 0 && end < server.length && !/\s/.test(text);
}

/** Guesses the rule from a name as commands and profiles take it: `server`, `server.tool` or `server.*`. */
export function meantRule(text: string): string | undefined {
  const [, server, tool] = /^([A-Za-z0-9_-]+)(?:\.([^\s*]+|\*))?$/.exec(text) ?? [];
  if (server === undefined || server.startsWith('mcp__')) return undefined;
  return `mcp__${server}${tool === undefined ? '' : `__${tool}`}`;
}
