// Longer than any name that a tool can have here, and most URIs.
const MAX_CHARS = 256;

/** A name as it is kept in records: callers can write whatever they like, however long. */
export const truncateName = (name: string): string =>
  name.length <= MAX_CHARS ? name : `${name.slice(0, MAX_CHARS - 1)}…`;
