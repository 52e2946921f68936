import type { Settings } from '../../config/schema/schema.ts';
import { ANONYMOUS_ID, isNamedByProgram, requireNameInProgram, requireRole } from '../../core/call/caller.ts';
import type { Caller, Role } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { PolicySubject } from '../../core/records/policy.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import type { ApiKeyBook } from '../../store/api-key-book.ts';

export interface SubjectOptions {
  readonly keys: Pick<ApiKeyBook, 'all'>;
  readonly settings: () => Pick<Settings, 'gateway' | 'profiles'>;
}

/** The roles that may see the permissions of other callers. */
export const OVERSEERS: readonly Role[] = ['owner', 'operator', 'auditor'];

/**
 * Returns the caller whose permissions are asked for, with its roles and profile. The permissions of another caller
 * require `owner`, `operator` or `auditor`. Throws NAME_UNKNOWN for a key or profile that does not exist.
 */
export async function subjectCaller(options: SubjectOptions, by: Caller, wanted: PolicySubject): Promise<Caller> {
  const { caller: id = by.id, profile } = wanted;
  if (id !== by.id || (profile !== undefined && profile !== by.profile)) requireRole(by, OVERSEERS);
  const known = id === by.id ? by : await callerNamed(options, id);
  if (profile === undefined) return known;
  requireProfile(options.settings().profiles, profile);
  if (known.profile === undefined || known.profile === profile) return { ...known, profile };
  throw new HeddleError('USAGE_INVALID', `${known.id} may use the profile ${known.profile} alone, not ${profile}.`, {
    fix: 'Leave `--profile` out.',
  });
}

function agentNamed(id: string): Caller {
  const agent = id.slice('library/'.length);
  requireNameInProgram('caller', agent);
  return { id: 'library', roles: ['owner'], via: 'library', agent };
}

async function callerNamed({ keys, settings }: SubjectOptions, id: string): Promise<Caller> {
  if (isNamedByProgram(id)) return agentNamed(id);
  if (/^(owner|library|local:.+)$/.test(id)) {
    return { id, roles: ['owner'], via: id === 'owner' ? 'gateway' : id === 'library' ? 'library' : 'cli' };
  }
  // The scopes of a token are not stored, so a caller with a token counts as a user.
  if (id === 'anonymous' || /^[a-z]+:\/\/.+#.+$/.test(id)) return { id, roles: ['user'], via: 'gateway' };
  const all = [...(await keys.all()), ...settings().gateway.apiKeys];
  const key = all.find(({ name }) => id === `key:${name}`);
  if (key) {
    return { id, roles: key.roles, via: 'gateway', ...(key.profile !== undefined && { profile: key.profile }) };
  }
  const ids = ['owner', 'library', ANONYMOUS_ID, ...all.map(({ name }) => `key:${name}`)];
  const meant = closest(id, ids) ?? all.find(({ name }) => name === id)?.name;
  throw new HeddleError('NAME_UNKNOWN', `There is no caller ${id}.`, {
    fix:
      meant === undefined
        ? 'Write `key:<name>`, `owner`, `local:<user>`, `library/<agent>` or `<issuer>#<sub>`; `heddle key list` shows the keys.'
        : `Did you mean ${quoteName(ids.includes(meant) ? meant : `key:${meant}`)}?`,
  });
}

function requireProfile(profiles: Settings['profiles'], profile: string): void {
  if (Object.hasOwn(profiles, profile)) return;
  const meant = closest(profile, Object.keys(profiles));
  throw new HeddleError('NAME_UNKNOWN', `There is no profile ${profile}.`, {
    fix: meant === undefined ? 'Run `heddle config explain profiles` to see all.' : `Did you mean ${quoteName(meant)}?`,
  });
}
