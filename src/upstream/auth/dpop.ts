import { createHash, createPrivateKey, generateKeyPairSync, type JsonWebKey, randomUUID, sign } from 'node:crypto';
import { BoundedMap } from '../../core/bounded-map.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import type { Grant, GrantKey, TokenVault } from '../../store/token-vault.ts';

/** A request that a DPoP proof is for. */
export interface DpopRequest {
  readonly method: string;
  readonly url: URL;
  /** The access token that the request carries; none at a token endpoint. */
  readonly accessToken?: string;
}

/** Signs DPoP proofs (RFC 9449) with one key. */
export interface DpopSigner {
  /** The private JWK, for the vault. */
  readonly privateKey: JsonObject;
  /** Returns a new proof. Each has a `jti` of its own, so a proof is never sent twice. */
  proofFor(request: DpopRequest): string;
  /** Remembers the `DPoP-Nonce` of a response for its origin. Returns true if it is another one than before. */
  takeNonce(url: URL, nonce: unknown): boolean;
}

/** The newest nonce of each origin. */
export type DpopNonces = Map<string, string>;

export interface DpopSignerOptions {
  readonly nonces: DpopNonces;
  /** Milliseconds since 1970. */
  readonly clock: Clock;
}

const MAX_ORIGINS = 1000;
/** The characters of a nonce (RFC 9449, section 8.1), at most 1,024. */
const NONCE = /^[\x21\x23-\x5b\x5d-\x7e]{1,1024}$/;

export const newDpopNonces = (): DpopNonces => new BoundedMap(MAX_ORIGINS);

/** Generates an ES256 key, as a private JWK. */
export function generateDpopKey(): JsonObject {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ format: 'jwk' }) as JsonObject;
}

/** Signs with `node:crypto`, which is synchronous: a request with a valid token waits for nothing. */
export function dpopSigner(privateKey: JsonObject, { nonces, clock }: DpopSignerOptions): DpopSigner {
  const key = createPrivateKey({ key: privateKey as JsonWebKey, format: 'jwk' });
  const { kty, crv, x, y } = privateKey;
  const header = encode({ typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } });

  return {
    privateKey,
    proofFor({ method, url, accessToken }) {
      const nonce = nonces.get(url.origin);
      const payload = encode({
        jti: randomUUID(),
        htm: method,
        htu: `${url.origin}${url.pathname}`,
        iat: Math.floor(clock() / 1000),
        ...(accessToken === undefined ? {} : { ath: createHash('sha256').update(accessToken).digest('base64url') }),
        ...(nonce === undefined ? {} : { nonce }),
      });
      const signed = `${header}.${payload}`;
      const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
      return `${signed}.${signature.toString('base64url')}`;
    },
    takeNonce(url, nonce) {
      if (typeof nonce !== 'string' || !NONCE.test(nonce) || nonces.get(url.origin) === nonce) return false;
      nonces.set(url.origin, nonce);
      return true;
    },
  };
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

interface DpopParts {
  readonly vault: Pick<TokenVault, 'dpopKey'>;
  readonly clock: Clock;
}

// The nonces of a Heddle. All its signers share them: a nonce belongs to an origin, not to a key.
const noncesOfVault = new WeakMap<object, DpopNonces>();

function noncesOf(vault: object): DpopNonces {
  const nonces = noncesOfVault.get(vault) ?? newDpopNonces();
  noncesOfVault.set(vault, nonces);
  return nonces;
}

/** Returns the signer of a principal at an issuer. There is one key for each pair, in all processes. */
export async function dpopSignerAt(
  { vault, clock }: DpopParts,
  owner: Pick<GrantKey, 'issuer' | 'principal'>,
): Promise<DpopSigner> {
  const key = await vault.dpopKey(owner, generateDpopKey);
  return dpopSigner(key, { clock, nonces: noncesOf(vault) });
}

/** Returns the signer for a token request; undefined if the authorization server does not support DPoP with ES256. */
export async function dpopSignerFor(
  parts: DpopParts,
  { issuer, metadata }: { readonly issuer: string; readonly metadata: JsonObject },
  principal: string,
): Promise<DpopSigner | undefined> {
  const algorithms = metadata.dpop_signing_alg_values_supported;
  if (!Array.isArray(algorithms) || !algorithms.includes('ES256')) return undefined;
  return await dpopSignerAt(parts, { issuer, principal });
}

/** Returns the signer for requests with a token of the type DPoP. */
export function dpopSignerOf({ vault, clock }: DpopParts, { dpopKey, serverUrl }: Grant): DpopSigner {
  if (dpopKey) return dpopSigner(dpopKey, { clock, nonces: noncesOf(vault) });
  throw new HeddleError('AUTH_NEEDED', `The token for ${serverUrl} is bound to a key that the vault does not have.`);
}
