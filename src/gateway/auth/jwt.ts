import { constants, type KeyObject, verify } from 'node:crypto';
import type { JWT_ALGORITHMS } from '../../config/schema/defaults.ts';
import type { JsonObject } from '../../core/call.ts';
import { isObject, parseJson } from '../../core/json.ts';

export type Algorithm = (typeof JWT_ALGORITHMS)[number];

/** A key that an issuer has published, and the only ways in which it may have signed. */
export interface IssuerKey {
  readonly kid: string | undefined;
  readonly algorithms: readonly Algorithm[];
  readonly key: KeyObject;
}

export interface TokenRules {
  readonly issuers: readonly string[];
  readonly audience: string;
  readonly algorithms: readonly Algorithm[];
  /** The keys of one issuer that may be meant; rejects when they cannot be had. */
  readonly keysOf: (issuer: string, kid: string | undefined) => Promise<readonly IssuerKey[]>;
  /** Milliseconds, as everywhere. */
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

/** What a token says, or in words why it counts for nothing. */
export async function verifyToken(token: string, rules: TokenRules): Promise<Claims | string> {
  const read = token.length > MAX_CHARS ? undefined : readToken(token);
  if (!read) return 'The token is not a JWT that can be read.';
  const { header, claims } = read;
  const algorithm = rules.algorithms.find((one) => one === header.alg);
  if (!algorithm) return 'The token is not signed in a way that is accepted here.';
  // What is said to be critical and is not understood must not be passed over.
  if (header.crit !== undefined || !isAccessType(header.typ)) return 'The token is not an access token.';
  const issuer = rules.issuers.find((one) => one === claims.iss);
  if (issuer === undefined) return 'The token is of another issuer.';
  const wrong = complaintAbout(claims, rules);
  if (wrong !== undefined) return wrong;
  const kid = typeof header.kid === 'string' ? header.kid : undefined;
  const keys = (await rules.keysOf(issuer, kid)).filter(({ algorithms }) => algorithms.includes(algorithm));
  // Without a name for the key there has to be no choice: trying them all is not for the one who asks to decide.
  const usable = kid !== undefined || keys.length === 1 ? keys : [];
  if (!usable.some(({ key }) => isSigned(read, algorithm, key))) return 'The signature of the token does not hold.';
  return { issuer, subject: String(claims.sub), scopes: scopesOf(claims) };
}

interface ReadToken {
  readonly header: JsonObject;
  readonly claims: JsonObject;
  readonly signed: Buffer;
  readonly signature: Buffer;
}

function readToken(token: string): ReadToken | undefined {
  const [head = '', body = '', tail = '', ...more] = token.split('.');
  const [first, second, signature] = [head, body, tail].map(fromBase64);
  if (more.length > 0 || !first || !second || !signature) return undefined;
  const header = objectIn(first);
  const claims = objectIn(second);
  return header && claims && { header, claims, signed: Buffer.from(`${head}.${body}`), signature };
}

/** Only the one spelling that the bytes have. */
function fromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.length > 0 && bytes.toString('base64url') === text ? bytes : undefined;
}

function objectIn(bytes: Buffer): JsonObject | undefined {
  try {
    const value = parseJson(bytes.toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isAccessType = (type: unknown) =>
  type === undefined || (typeof type === 'string' && TYPES.includes(type.toLowerCase()));

function complaintAbout(claims: JsonObject, { audience, now }: TokenRules): string | undefined {
  const { aud, exp, nbf, sub } = claims;
  const seconds = now / 1000;
  if (![aud].flat().includes(audience)) return 'The token is made out for somebody else.';
  if (typeof exp !== 'number' || seconds >= exp + LEEWAY_SECONDS) return 'The token has expired.';
  if (nbf !== undefined && (typeof nbf !== 'number' || seconds < nbf - LEEWAY_SECONDS)) {
    return 'The token is not valid yet.';
  }
  return typeof sub === 'string' && sub !== '' ? undefined : 'The token does not say whose it is.';
}

/** `scope` as the standard has it, or `scp` as some issuers do. */
function scopesOf({ scope, scp }: JsonObject): readonly string[] {
  const said = scope ?? scp;
  if (Array.isArray(said)) return said.filter((one) => typeof one === 'string');
  return typeof said === 'string' ? said.split(' ').filter((one) => one !== '') : [];
}

function isSigned({ signed, signature }: ReadToken, algorithm: Algorithm, key: KeyObject): boolean {
  const { RSA_PKCS1_PADDING, RSA_PKCS1_PSS_PADDING, RSA_PSS_SALTLEN_DIGEST } = constants;
  const how = {
    RS256: { key, padding: RSA_PKCS1_PADDING },
    PS256: { key, padding: RSA_PKCS1_PSS_PADDING, saltLength: RSA_PSS_SALTLEN_DIGEST },
    ES256: { key, dsaEncoding: 'ieee-p1363' as const },
    EdDSA: { key },
  }[algorithm];
  return verify(algorithm === 'EdDSA' ? null : 'sha256', signed, how, signature);
}
