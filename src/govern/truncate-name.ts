// Longer than any public name of a tool, and than most URIs.
const MAX_CHARS = 256;

/** Cuts a name to 256 characters for audit records and spans; callers can send names of any length. */
export const truncateName = (name: string): string =>
  name.length <= MAX_CHARS ? name : `${name.slice(0, MAX_CHARS - 1)}…`;
