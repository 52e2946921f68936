import type { Settings } from '../../config/schema/schema.ts';
import { ANONYMOUS_ID } from '../../core/call/caller.ts';
import type { Caller } from '../../core/call.ts';
import type { Heddle } from '../../heddle.ts';
import type { RequestHead } from '../http-request.ts';
import type { Authenticate, Authentication, AuthRefusal } from './authenticate.ts';
import { callerCache } from './caller-cache.ts';

/** The profile that an MCP path serves; all servers if undefined. */
export interface ProfileRoute {
  readonly profile: string | undefined;
}

export interface AdmitterOptions {
  readonly settings: Heddle['access']['settings'];
  readonly authenticate: Authenticate;
  /** True if only this machine can reach the gateway. */
  readonly isLocal: boolean;
}

const ANONYMOUS: Caller = { id: ANONYMOUS_ID, roles: ['user'], via: 'gateway' };
const OTHER_PROFILE: AuthRefusal = { status: 403, message: 'This key is limited to another profile.' };
const NO_CALLS: AuthRefusal = { status: 403, error: 'insufficient_scope', message: 'Calling needs the role `user`.' };

/** Parses an MCP path; undefined for other paths. A path without a profile serves `defaultProfile`. */
export function profileRouteOf(path: string, defaultProfile: string | undefined): ProfileRoute | undefined {
  const found = /^\/(?:mcp|sse|messages)(?:\/([A-Za-z0-9_-]{1,64}))?$/.exec(path);
  return found ? { profile: found[1] ?? defaultProfile } : undefined;
}

/** Authenticates callers and assigns their profile. Returns `unknown` for a profile that does not exist. */
export function profileAdmitter({ settings, authenticate, isLocal }: AdmitterOptions) {
  const canonical = callerCache();

  function inProfile(found: Authentication, { profile }: ProfileRoute): Authentication | 'unknown' {
    if (!found || 'status' in found) return found;
    if (!mayCall(found)) return NO_CALLS;
    const own = found.profile ?? profile;
    if (profile !== undefined && own !== profile) return OTHER_PROFILE;
    if (own === undefined) return found;
    if (!profileOf(settings(), own)) return 'unknown';
    return own === found.profile ? found : canonical({ ...found, profile: own });
  }

  return function admit(
    request: RequestHead,
    route: ProfileRoute,
  ): Authentication | 'unknown' | Promise<Authentication | 'unknown'> {
    // A credential that is sent is always checked, even if none is needed: a wrong one is refused.
    const isAnonymous = isLocal && request.headers.authorization === undefined && isOpen(settings(), route);
    const found = isAnonymous ? ANONYMOUS : authenticate(request);
    return found instanceof Promise
      ? found.then((authentication) => inProfile(authentication, route))
      : inProfile(found, route);
  };
}

const mayCall = ({ roles }: Caller) => roles.some((role) => role === 'user' || role === 'owner');

const profileOf = ({ profiles }: Pick<Settings, 'profiles'>, name: string) =>
  Object.hasOwn(profiles, name) ? profiles[name] : undefined;

function isOpen(settings: Pick<Settings, 'gateway' | 'profiles'>, { profile }: ProfileRoute): boolean {
  if (settings.gateway.auth === 'none') return true;
  return profile !== undefined && profileOf(settings, profile)?.auth === 'none';
}
