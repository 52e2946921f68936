import type { Settings } from '../../config/schema/schema.ts';
import type { Caller } from '../../core/call.ts';
import type { RunCaller } from '../../core/records/run.ts';
import type { ApiKeyBook } from '../../store/api-key-book.ts';

export interface RunCallerOptions {
  readonly keys: Pick<ApiKeyBook, 'all'>;
  readonly settings: () => Pick<Settings, 'gateway'>;
}

const KEY = 'key:';

/**
 * Looks up the caller of a run again: the roles and the profile of a key are those that it has now. Returns undefined if
 * the key was revoked. Other callers keep the roles with which they began the run.
 */
export function runCallers({ keys, settings }: RunCallerOptions) {
  return async function callerOf({ id, roles, profile }: RunCaller): Promise<Caller | undefined> {
    if (!id.startsWith(KEY)) return toCaller({ id, roles, profile });
    const name = id.slice(KEY.length);
    const all = [...settings().gateway.apiKeys, ...(await keys.all())];
    const found = all.find((key) => key.name === name);
    return found && toCaller({ id, roles: found.roles, profile: found.profile ?? profile });
  };
}

const toCaller = ({ id, roles, profile }: Pick<Caller, 'id' | 'roles'> & { readonly profile?: string | undefined }) =>
  ({ id, roles, via: 'workflow', ...(profile !== undefined && { profile }) }) as const;
