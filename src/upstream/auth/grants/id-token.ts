import type { JSONWebKeySet } from 'jose';
import { createLocalJWKSet } from 'jose/jwks/local';
import { decodeJwt } from 'jose/jwt/decode';
import { jwtVerify } from 'jose/jwt/verify';
import type { JsonObject } from '../../../core/call.ts';
import { HeddleError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/time.ts';

export interface IdTokenRules {
  readonly issuer: string;
  readonly clientId: string;
  /** The `nonce` of the authorization request. */
  readonly nonce: string;
  /** The JWK set of the provider. */
  readonly keys: JsonObject;
  readonly clock: Clock;
}

// Only signatures that the provider alone can make: neither `none` nor a shared secret.
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const LEEWAY_SECONDS = 60;
const MAX_CHARS = 64 * 1024;

/** Verifies the signature and the claims of an ID token. Throws AUTH_REFUSED with the defect. */
export async function verifyIdToken(idToken: string, rules: IdTokenRules): Promise<void> {
  const { issuer, clientId, nonce, keys, clock } = rules;
  if (idToken.length > MAX_CHARS) throw refused(issuer, 'is too long');
  let claims: Readonly<Record<string, unknown>>;
  try {
    const { payload } = await jwtVerify(idToken, createLocalJWKSet(keys as unknown as JSONWebKeySet), {
      algorithms: ALGORITHMS,
      issuer,
      audience: clientId,
      clockTolerance: LEEWAY_SECONDS,
      currentDate: new Date(clock()),
      requiredClaims: ['sub', 'exp', 'iat'],
    });
    claims = payload;
  } catch (cause) {
    throw refused(issuer, `is invalid (${codeOf(cause)})`);
  }
  if (claims.nonce !== nonce) throw refused(issuer, 'belongs to another sign-in');
  const isForOthersToo = Array.isArray(claims.aud) && claims.aud.length > 1;
  if ((isForOthersToo || claims.azp !== undefined) && claims.azp !== clientId) {
    throw refused(issuer, 'was issued to another client');
  }
}

/** Returns the time at which an ID token expires, in milliseconds; 0 if it has no readable `exp`. */
export function idTokenExpiry(idToken: string): number {
  try {
    return (decodeJwt(idToken).exp ?? 0) * 1000;
  } catch {
    return 0;
  }
}

// The code and the name of the claim; the message of jose may quote values of the token.
function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error) || !('code' in thrown)) return 'unreadable';
  const claim = 'claim' in thrown && thrown.claim !== 'unspecified' ? `, \`${thrown.claim}\`` : '';
  return `${thrown.code}${claim}`;
}

const refused = (issuer: string, defect: string) =>
  new HeddleError('AUTH_REFUSED', `The ID token of ${issuer} ${defect}, so it is not used.`, {
    fix: 'Sign in again; if it fails again, compare `xaa` with the settings of the provider.',
    details: { issuer },
  });
