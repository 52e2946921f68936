import { JWKSMultipleMatchingKeys } from 'jose/errors';
import { type CompactVerifyGetKey, compactVerify } from 'jose/jws/compact/verify';
import type { JWT_ALGORITHMS } from '../../config/schema/defaults.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';
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
  /** All verified claims of the token. */
  readonly all: JsonObject;
}

const MAX_CHARS = 8192;
const LEEWAY_SECONDS = 60;
const TYPES = ['jwt', 'at+jwt', 'application/at+jwt'];

/**
 * Verifies an access token. Returns its claims, or the reason for a 401. Throws if the keys cannot be fetched. Claims
 * are checked before keys are fetched: an expired token must get 401 even if the issuer is unreachable.
 */
export async function verifyToken(token: string, rules: TokenRules): Promise<Claims | string> {
  const decoded = token.length > MAX_CHARS ? undefined : decodeToken(token);
  if (!decoded) return 'The token is not a valid JWT.';
  const { header, claims } = decoded;
  const { alg, crit, typ, kid } = header;
  const algorithm = rules.algorithms.find((accepted) => accepted === alg);
  if (!algorithm) return 'The token is signed with an algorithm that is not accepted.';
  if (crit !== undefined || !isAccessType(typ)) return 'The token is not an access token.';
  const issuer = rules.issuers.find((accepted) => accepted === claims.iss);
  if (issuer === undefined) return 'The token is from another issuer.';
  const invalid = findInvalidClaim(claims, rules);
  if (invalid !== undefined) return invalid;
  const keyId = typeof kid === 'string' ? { kid } : undefined;
  const getKey: CompactVerifyGetKey = (_header, jws) => rules.keysOf(issuer)({ alg: algorithm, ...keyId }, jws);
  const options = { algorithms: [algorithm], hasKeyId: keyId !== undefined };
  if (!(await isSigned(token, getKey, options))) return 'The signature of the token is invalid.';
  return { issuer, subject: String(claims.sub), scopes: scopesOf(claims), all: claims };
}

interface DecodedToken {
  readonly header: JsonObject;
  readonly claims: JsonObject;
}

/** Decodes a token without verifying it. Returns undefined if it is not a JWT. */
function decodeToken(token: string): DecodedToken | undefined {
  const parts = token.split('.');
  const [head, body] = parts;
  if (parts.length !== 3 || !parts.every(isCanonical)) return undefined;
  const header = decodeObject(head);
  const claims = decodeObject(body);
  return header && claims && { header, claims };
}

/** Tells whether a part has the only base64url spelling of its bytes. Decoders accept others. */
function isCanonical(part: string): boolean {
  return part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part;
}

function decodeObject(part = ''): JsonObject | undefined {
  try {
    const value = parseJson(Buffer.from(part, 'base64url').toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isAccessType = (type: unknown) =>
  type === undefined || (typeof type === 'string' && TYPES.includes(type.toLowerCase()));

function findInvalidClaim({ aud, exp, nbf, sub }: JsonObject, { audience, now }: TokenRules): string | undefined {
  const seconds = now / 1000;
  if (![aud].flat().includes(audience)) return 'The token is for another audience.';
  if (typeof exp !== 'number' || seconds >= exp + LEEWAY_SECONDS) return 'The token has expired.';
  if (nbf !== undefined && (typeof nbf !== 'number' || seconds < nbf - LEEWAY_SECONDS)) {
    return 'The token is not valid yet.';
  }
  return typeof sub === 'string' && sub !== '' ? undefined : 'The token has no subject.';
}

interface SignatureOptions {
  readonly algorithms: string[];
  readonly hasKeyId: boolean;
}

/** Verifies the signature. Keys with the same `kid` are tried in turn; without a `kid` only one key may match. */
async function isSigned(token: string, getKey: CompactVerifyGetKey, options: SignatureOptions): Promise<boolean> {
  const { hasKeyId, algorithms } = options;
  try {
    await compactVerify(token, getKey, { algorithms });
    return true;
  } catch (thrown) {
    if (HeddleError.is(thrown)) throw thrown; // The keys cannot be fetched.
    if (!hasKeyId || !(thrown instanceof JWKSMultipleMatchingKeys)) return false;
    for await (const key of thrown) {
      if (await compactVerify(token, key, { algorithms }).catch(() => undefined)) return true;
    }
    return false;
  }
}

/** Returns the scopes of `scope` (RFC 8693), or of `scp`, which some issuers use. */
function scopesOf({ scope, scp }: JsonObject): readonly string[] {
  const scopes = scope ?? scp;
  if (Array.isArray(scopes)) return scopes.filter((name) => typeof name === 'string');
  return typeof scopes === 'string' ? scopes.split(' ').filter((name) => name !== '') : [];
}
