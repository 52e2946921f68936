import type { RemoteEntry, ServerEntry } from '../../config/schema/schema.ts';

const OAUTH_TYPES = new Set(['http', 'sse', 'ws']);

/** Tests whether OAuth is used with an entry. A helper or an `Authorization` header rules it out. */
export function canSignIn(entry: ServerEntry): entry is RemoteEntry {
  if (entry.type === 'stdio' || entry.type === 'sdk' || !OAUTH_TYPES.has(entry.type)) return false;
  return entry.headersHelper === undefined && !hasAuthorization(entry);
}

/** Tests whether the entry has an `Authorization` header of its own. */
export const hasAuthorization = ({ headers }: Pick<RemoteEntry, 'headers'>): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
