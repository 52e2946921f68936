import { createHash, timingSafeEqual } from 'node:crypto';
import type { Caller, Role } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import type { Heddle } from '../../heddle.ts';
import type { RequestHead } from '../http-request.ts';
import { bearerOf } from './bearer.ts';
import { callerCache } from './caller-cache.ts';
import type { IssuerKeys } from './jwks.ts';
import type { Claims } from './jwt.ts';
import { issuersOf, type TokenSettings } from './resource-metadata.ts';

/** The refusal of a credential. */
export interface AuthRefusal {
  readonly status: 401 | 403 | 503;
  readonly message: string;
  readonly error?: 'invalid_token' | 'insufficient_scope';
}

/** The caller, a refusal, or undefined if the request has no credential of a known kind. */
export type Authentication = Caller | AuthRefusal | undefined;

/** Authenticates a request. Returns a promise only for keys and JWTs, which have to be looked up. */
export type Authenticate = (request: RequestHead) => Authentication | Promise<Authentication>;

export interface Credentials {
  /** The owner's token. */
  readonly token: string;
  readonly access: Pick<Heddle['access'], 'keyOf' | 'isPerson' | 'settings'>;
  readonly clock?: Clock;
}

const OWNER: Caller = { id: 'owner', roles: ['owner'], via: 'gateway' };

/** Returns true for the caller that `authenticator` returns for the owner's token, and for no other caller. */
export const hasOwnerToken = (caller: Caller): boolean => caller === OWNER;

const KEY_PREFIX = 'hk_';

function tokenMatcher(token: string): (credential: string) => boolean {
  const expected = Buffer.from(token);
  return function matches(credential) {
    const actual = Buffer.from(credential);
    return actual.length === expected.length && timingSafeEqual(actual, expected);
  };
}

/** Accepts the owner's token, an API key (`hk_…`), or a JWT of an issuer in `gateway.auth`. */
export function authenticator({ token, access, clock }: Credentials): Authenticate {
  const isOwner = tokenMatcher(token);
  const canonical = callerCache();
  const authenticateJwt = jwtAuthenticator(access, clock);

  return function authenticate(request) {
    const credential = bearerOf(request);
    if (credential === undefined) return undefined;
    if (isOwner(credential)) return OWNER;
    if (credential.startsWith(KEY_PREFIX)) {
      return authenticateKey(access, credential).then((caller) => caller && canonical(caller));
    }
    const { auth } = access.settings().gateway;
    if (auth === undefined || auth === 'none') return undefined;
    return authenticateJwt(credential, auth).then((caller) => ('id' in caller ? canonical(caller) : caller));
  };
}

async function authenticateKey(access: Credentials['access'], credential: string): Promise<Caller | undefined> {
  const digest = digestOf(credential);
  const key = await access.keyOf(digest.toString('hex'));
  if (!key || !timingSafeEqual(digest, Buffer.from(key.sha256, 'hex'))) return undefined;
  const { name, roles, profile, person } = key;
  const id = `key:${name}`;
  return { id, roles, via: 'gateway', ...(profile !== undefined && { profile }), ...(person && { person: id }) };
}

type AuthenticateJwt = (credential: string, auth: TokenSettings) => Promise<Caller | AuthRefusal>;

/** Loads jose with the first JWT: most gateways have no issuer. */
function jwtAuthenticator({ isPerson }: Credentials['access'], clock: Clock | undefined): AuthenticateJwt {
  // The key cache belongs to one `gateway.auth`. Changed settings begin with an empty one.
  let current: { readonly auth: TokenSettings; readonly keysOf: IssuerKeys } | undefined;

  return async function authenticateJwt(credential, auth) {
    const [{ issuerKeys }, { verifyToken }] = await Promise.all([import('./jwks.ts'), import('./jwt.ts')]);
    if (current?.auth !== auth)
      current = { auth, keysOf: issuerKeys({ jwksUrl: auth.jwksUrl, ...(clock && { clock }) }) };
    const { audience, algorithms } = auth;
    const { keysOf } = current;
    try {
      const claims = await verifyToken(credential, {
        issuers: issuersOf(auth),
        audience,
        algorithms,
        keysOf,
        now: (clock ?? Date.now)(),
      });
      if (typeof claims === 'string') return { status: 401, error: 'invalid_token', message: claims };
      const caller = toCaller(claims, auth);
      const hasPerson = 'id' in caller && (await isPerson(claims.all));
      return hasPerson ? { ...caller, person: caller.id } : caller;
    } catch (thrown) {
      return { status: 503, message: HeddleError.from(thrown).message };
    }
  };
}

function toCaller({ issuer, subject, scopes }: Claims, auth: TokenSettings): Caller | AuthRefusal {
  const mapped = Object.entries(auth.scopes);
  const found = mapped.filter(([scope]) => scopes.includes(scope)).map(([, role]) => role);
  const roles: readonly Role[] = mapped.length === 0 ? ['user'] : [...new Set(found)];
  if (roles.length > 0) return { id: `${issuer}#${subject}`, roles, via: 'gateway' };
  return {
    status: 403,
    error: 'insufficient_scope',
    message: 'The token has none of the scopes in `gateway.auth.scopes`.',
  };
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
