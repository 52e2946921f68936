import type { JWTPayload } from 'jose';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
import { JOSEError, JWKSMultipleMatchingKeys, JWTClaimValidationFailed, JWTExpired } from 'jose/errors';
import { decodeJwt } from 'jose/jwt/decode';
import { type JWTVerifyGetKey, type JWTVerifyOptions, jwtVerify } from 'jose/jwt/verify';
import type { JWT_ALGORITHMS } from '../../config/schema/defaults.ts';
import { HeddleError } from '../../core/errors.ts';
import type { IssuerKeys } from './jwks.ts';

export interface TokenRules {
  readonly issuers: readonly string[];
  readonly audience: string;
  readonly algorithms: readonly (typeof JWT_ALGORITHMS)[number][];
  readonly keysOf: IssuerKeys;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export interface Claims {
  readonly issuer: string;
  readonly subject: string;
  readonly scopes: readonly string[];
}

const MAX_CHARS = 8192;
const LEEWAY_SECONDS = 60;
const TYPES = ['jwt', 'at+jwt', 'application/at+jwt'];
const UNREADABLE = 'The token is not a valid JWT.';
const BAD_SIGNATURE = 'The signature of the token is invalid.';

/** Verifies an access token. Returns its claims, or the reason for a 401. Throws if the keys cannot be fetched. */
export async function verifyToken(token: string, rules: TokenRules): Promise<Claims | string> {
  const { issuers, audience, algorithms, keysOf, now } = rules;
  if (token.length > MAX_CHARS || !token.split('.').every(isCanonical)) return UNREADABLE;
  try {
    const { crit, typ, kid } = decodeProtectedHeader(token);
    if (crit !== undefined || !isAccessType(typ)) return 'The token is not an access token.';
    const { iss } = decodeJwt(token);
    const issuer = issuers.find((accepted) => accepted === iss);
    if (issuer === undefined) return 'The token is from another issuer.';
    const payload = await verify(token, keysOf(issuer), {
      algorithms: [...algorithms],
      issuer,
      audience,
      clockTolerance: LEEWAY_SECONDS,
      currentDate: new Date(now),
      requiredClaims: ['exp'],
      hasKeyId: kid !== undefined,
    });
    const { sub } = payload;
    if (typeof sub !== 'string' || sub === '') return 'The token has no subject.';
    return { issuer, subject: sub, scopes: scopesOf(payload) };
  } catch (thrown) {
    if (HeddleError.is(thrown)) throw thrown;
    return reasonOf(thrown);
  }
}

interface VerifyOptions extends JWTVerifyOptions {
  readonly hasKeyId: boolean;
}

/** Verifies signature and claims. Keys with the same `kid` are tried in turn; without a `kid` only one key may match. */
async function verify(
  token: string,
  getKey: JWTVerifyGetKey,
  { hasKeyId, ...options }: VerifyOptions,
): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, getKey, options)).payload;
  } catch (thrown) {
    if (!hasKeyId || !(thrown instanceof JWKSMultipleMatchingKeys)) throw thrown;
    for await (const key of thrown) {
      const verified = await jwtVerify(token, key, options).catch(orNextKey);
      if (verified) return verified.payload;
    }
    throw thrown;
  }
}

function orNextKey(thrown: unknown): undefined {
  if (!(thrown instanceof JOSEError) || thrown.code !== 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED') throw thrown;
}

/** Tells whether a part has the only base64url spelling of its bytes. Decoders accept others. */
function isCanonical(part: string): boolean {
  return part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part;
}

const isAccessType = (type: unknown) =>
  type === undefined || (typeof type === 'string' && TYPES.includes(type.toLowerCase()));

function reasonOf(thrown: unknown): string {
  if (thrown instanceof JWTExpired) return 'The token has expired.';
  if (thrown instanceof JWTClaimValidationFailed) return CLAIM_REASONS[thrown.claim] ?? UNREADABLE;
  if (!(thrown instanceof JOSEError)) return BAD_SIGNATURE; // The matching key is malformed.
  return CODE_REASONS[thrown.code] ?? BAD_SIGNATURE;
}

const CLAIM_REASONS: Readonly<Record<string, string>> = {
  aud: 'The token is for another audience.',
  exp: 'The token has expired.',
  nbf: 'The token is not valid yet.',
};

const CODE_REASONS: Readonly<Record<string, string>> = {
  ERR_JWS_INVALID: UNREADABLE,
  ERR_JWT_INVALID: UNREADABLE,
  ERR_JOSE_ALG_NOT_ALLOWED: 'The token is signed with an algorithm that is not accepted.',
};

/** Returns the scopes of `scope` (RFC 8693), or of `scp`, which some issuers use. */
function scopesOf({ scope, scp }: JWTPayload): readonly string[] {
  const scopes = scope ?? scp;
  if (Array.isArray(scopes)) return scopes.filter((name) => typeof name === 'string');
  return typeof scopes === 'string' ? scopes.split(' ').filter((name) => name !== '') : [];
}
