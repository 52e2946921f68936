const NAME = /^mcp__[A-Za-z0-9_-]+?(__\S+)?$/;
const URI = /^[a-z][a-z0-9+.-]*:\S/i;

/** The forms of a rule, for messages. */
export const RULE_FORMS = '`mcp__server`, `mcp__server__tool`, `mcp__server__*` or the URI of a resource';

/** Returns true if a text can be a rule: a name, `*` only at the end of `mcp__server__*`, or a URI. */
export function isRulePattern(text: string): boolean {
  if (text.startsWith('mcp__')) return NAME.test(text) && !/\*(?!$)|(?<!__)\*$/.test(text);
  return URI.test(text);
}

/** Guesses the rule from a name as commands and profiles take it: `server`, `server.tool` or `server.*`. */
export function meantRule(text: string): string | undefined {
  const [, server, tool] = /^([A-Za-z0-9_-]+)(?:\.([^\s*]+|\*))?$/.exec(text) ?? [];
  if (server === undefined || server.startsWith('mcp__')) return undefined;
  return `mcp__${server}${tool === undefined ? '' : `__${tool}`}`;
}
