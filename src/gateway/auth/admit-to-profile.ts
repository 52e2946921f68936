import type { Settings } from '../../config/schema/schema.ts';
import type { Caller } from '../../core/call.ts';
import type { Heddle } from '../../heddle.ts';
import type { RequestHead } from '../http-request.ts';
import type { Admission, Authenticate, AuthRefusal } from './authenticate.ts';
import { callerCache } from './caller-cache.ts';

/** Where MCP is served: all of it, or one profile. */
export interface ProfileRoute {
  readonly profile: string | undefined;
}

export interface AdmitterOptions {
  readonly settings: Heddle['access']['settings'];
  readonly authenticate: Authenticate;
  /** Whether only this machine can reach the gateway. */
  readonly isLocal: boolean;
}

const ANONYMOUS: Caller = { id: 'anonymous', roles: ['user'], via: 'gateway' };
const CONFINED: AuthRefusal = { status: 403, message: 'This key opens another profile, and only that.' };
const NO_CALLS: AuthRefusal = { status: 403, error: 'insufficient_scope', message: 'Calling needs the role user.' };

/** What a path stands for; undefined when no MCP is there. `standing` is what a path without a profile serves. */
export function profileRouteOf(path: string, standing: string | undefined): ProfileRoute | undefined {
  const found = /^\/(?:mcp|sse|messages)(?:\/([A-Za-z0-9_-]{1,64}))?$/.exec(path);
  return found ? { profile: found[1] ?? standing } : undefined;
}

/** Decides who calls at a place, and as a caller of which profile. `unknown` is a profile that does not exist. */
export function profileAdmitter({ settings, authenticate, isLocal }: AdmitterOptions) {
  const remember = callerCache();

  function within(found: Admission, { profile }: ProfileRoute): Admission | 'unknown' {
    if (!found || 'status' in found) return found;
    if (!mayCall(found)) return NO_CALLS;
    const own = found.profile ?? profile;
    if (profile !== undefined && own !== profile) return CONFINED;
    if (own === undefined) return found;
    if (!profileOf(settings(), own)) return 'unknown';
    return own === found.profile ? found : remember({ ...found, profile: own });
  }

  return function admit(
    request: RequestHead,
    place: ProfileRoute,
  ): Admission | 'unknown' | Promise<Admission | 'unknown'> {
    // Whoever shows a credential wants to be known by it, and a wrong one is wrong everywhere.
    const open = isLocal && request.headers.authorization === undefined && isOpen(settings(), place);
    const found = open ? ANONYMOUS : authenticate(request);
    return found instanceof Promise ? found.then((admission) => within(admission, place)) : within(found, place);
  };
}

const mayCall = ({ roles }: Caller) => roles.some((role) => role === 'user' || role === 'owner');

const profileOf = ({ profiles }: Pick<Settings, 'profiles'>, name: string) =>
  Object.hasOwn(profiles, name) ? profiles[name] : undefined;

function isOpen(settings: Pick<Settings, 'gateway' | 'profiles'>, { profile }: ProfileRoute): boolean {
  if (settings.gateway.auth === 'none') return true;
  return profile !== undefined && profileOf(settings, profile)?.auth === 'none';
}
