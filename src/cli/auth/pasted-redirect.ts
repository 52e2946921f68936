/** The parameters of an authorization response. */
const NEEDED = ['code', 'error'];

/**
 * Returns the query of a pasted redirect: the whole URL, its query, or the query without `?`. Returns undefined if the
 * text has no `state`, or neither `code` nor `error`.
 */
export function queryOfPasted(text: string): string | undefined {
  const bare = text.trim().replace(/^(["'<])(.*)(["'>])$/s, '$2');
  const isUrl = /^https?:\/\//i.test(bare) && URL.canParse(bare);
  const query = (isUrl ? new URL(bare).search : (bare.split('#', 1)[0] ?? '')).replace(/^\?/, '');
  const names = new URLSearchParams(query);
  return names.has('state') && NEEDED.some((name) => names.has(name)) ? query : undefined;
}

/** Returns true if the query belongs to the sign-in with this `state`. */
export function hasState(query: string, state: string): boolean {
  const states = new URLSearchParams(query).getAll('state');
  return states.length === 1 && states[0] === state;
}
