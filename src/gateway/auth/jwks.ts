import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { createLocalJWKSet } from 'jose/jwks/local';
import type { CompactVerifyGetKey } from 'jose/jws/compact/verify';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { type Clock, steadyClock } from '../../core/time.ts';
import type { AddressSource, NamingDocument } from '../../egress/address-source.ts';
import { guardedFetch } from '../../egress/guarded-fetch.ts';

export interface IssuerKeysOptions {
  /** URL of the keys of every issuer; without it each issuer's metadata names its own. */
  readonly jwksUrl?: string | undefined;
  readonly clock?: Clock;
}

/** Returns the key finder of an issuer, for `compactVerify`. It throws UPSTREAM_UNREACHABLE if there are no usable keys. */
export type IssuerKeys = (issuer: string) => CompactVerifyGetKey;

const FRESH_MS = 10 * 60_000;
/** Age up to which keys are used while the issuer is unreachable. */
const STALE_MS = 60 * 60_000;
/** Shortest time between two fetches, so that tokens with unknown key ids cannot cause more. */
const RETRY_MS = 10_000;
const MAX_BYTES = 256 * 1024;
const MAX_KEYS = 100;
const MIN_RSA_BITS = 2048;

interface CachedKeys {
  find: CompactVerifyGetKey;
  fetchedAt: number;
  triedAt: number;
  failure: unknown;
  pending: Promise<void> | undefined;
}

/**
 * Caches the keys of each issuer. Fetches them again after 10 minutes, and for a token whose key is not among them.
 * `createRemoteJWKSet` is not used: it has no clock parameter and drops its keys when the issuer is down.
 */
export function issuerKeys({ jwksUrl, clock = steadyClock }: IssuerKeysOptions): IssuerKeys {
  const caches = new Map<string, CachedKeys>();

  function cacheOf(issuer: string): CachedKeys {
    const known = caches.get(issuer);
    if (known) return known;
    const never = Number.NEGATIVE_INFINITY;
    const find = createLocalJWKSet({ keys: [] });
    const cache = { find, fetchedAt: never, triedAt: never, failure: undefined, pending: undefined };
    caches.set(issuer, cache);
    return cache;
  }

  function refresh(issuer: string, cache: CachedKeys): Promise<void> {
    if (clock() - cache.triedAt < RETRY_MS) return cache.pending ?? Promise.resolve();
    cache.triedAt = clock();
    cache.pending = fetchKeys(issuer, jwksUrl)
      .then(
        (find) => Object.assign(cache, { find, fetchedAt: clock(), failure: undefined }),
        (failure) => Object.assign(cache, { failure }),
      )
      .then(() => {
        cache.pending = undefined;
      });
    return cache.pending;
  }

  const isOlder = (cache: CachedKeys, ageMs: number) => clock() - cache.fetchedAt > ageMs;

  return (issuer) => async (header, token) => {
    const cache = cacheOf(issuer);
    if (isOlder(cache, FRESH_MS)) await refresh(issuer, cache);
    const isMissing = await Promise.resolve(cache.find(header, token)).then(() => false, isNoMatchingKey);
    if (isMissing) await refresh(issuer, cache);
    if (isOlder(cache, STALE_MS)) throw unavailable(issuer, cache.failure);
    return cache.find(header, token); // Throws if several keys match: only after the check of their age.
  };
}

const isNoMatchingKey = (thrown: unknown) =>
  thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_JWKS_NO_MATCHING_KEY';

const unavailable = (issuer: string, cause: unknown) =>
  new HeddleError(
    'UPSTREAM_UNREACHABLE',
    `The keys of ${issuer} cannot be fetched: ${HeddleError.from(cause).message}`,
    { fix: 'Check `gateway.auth`, and whether the issuer is reachable.', cause },
  );

async function fetchKeys(issuer: string, jwksUrl: string | undefined): Promise<CompactVerifyGetKey> {
  const { address, source } = jwksUrl ? { address: jwksUrl, source: { written: jwksUrl } } : await discoverKeys(issuer);
  const document = (await getJson(address, source))?.json;
  const keys = isObject(document) && Array.isArray(document.keys) ? document.keys : [];
  return createLocalJWKSet({ keys: keys.slice(0, MAX_KEYS).flatMap(toPublicKey) });
}

interface NamedAddress {
  readonly address: string;
  readonly source: AddressSource;
}

/** Returns the `jwks_uri` of an issuer: from its RFC 8414 metadata, else from its OpenID configuration. */
async function discoverKeys(issuer: string): Promise<NamedAddress> {
  const url = new URL(issuer);
  const path = url.pathname.replace(/\/$/, '');
  const addresses = [
    `${url.origin}/.well-known/oauth-authorization-server${path}`,
    `${url.origin}${path}/.well-known/openid-configuration`,
  ];
  for (const address of addresses) {
    const fetched = await getJson(address, { written: issuer });
    if (!fetched) continue;
    const metadata = fetched.json;
    // Metadata that names another issuer is not this issuer's.
    if (!isObject(metadata) || metadata.issuer !== issuer || typeof metadata.jwks_uri !== 'string') continue;
    if (!URL.canParse(metadata.jwks_uri)) continue;
    return { address: metadata.jwks_uri, source: { written: issuer, document: fetched.document } };
  }
  throw new HeddleError('UPSTREAM_UNREACHABLE', `The metadata of ${issuer} has no \`jwks_uri\`.`);
}

interface FetchedJson {
  readonly json: unknown;
  readonly document: NamingDocument;
}

async function getJson(address: string, source: AddressSource): Promise<FetchedJson | undefined> {
  const headers = { accept: 'application/json' };
  const { status, body, url, kind } = await guardedFetch(address, { source, maxBytes: MAX_BYTES, headers });
  if (status !== 200) return undefined;
  try {
    return { json: parseJson(body.toString('utf8')), document: { url, kind } };
  } catch {
    return undefined;
  }
}

/**
 * Returns a published key if it may verify signatures. Its private half and `key_ops` are left out: jose would refuse
 * the key because of them. A malformed key is dropped, so that it neither counts as a match nor prevents a fetch.
 */
function toPublicKey(jwk: unknown): readonly JsonObject[] {
  if (!isObject(jwk)) return [];
  const { kid, use, key_ops, alg } = jwk;
  if ((use ?? 'sig') !== 'sig' || (Array.isArray(key_ops) && !key_ops.includes('verify'))) return [];
  const key = importPublic(jwk);
  const isWeak = (key?.asymmetricKeyDetails?.modulusLength ?? MIN_RSA_BITS) < MIN_RSA_BITS;
  return !key || isWeak ? [] : [withoutUndefined({ ...key.export({ format: 'jwk' }), kid, alg })];
}

function importPublic({ kty, crv, n, e, x, y }: JsonObject): KeyObject | undefined {
  try {
    return createPublicKey({ key: withoutUndefined({ kty, crv, n, e, x, y }), format: 'jwk' });
  } catch {
    return undefined;
  }
}

const withoutUndefined = (members: Readonly<Record<string, unknown>>): JsonObject & JsonWebKey =>
  JSON.parse(JSON.stringify(members));
