import { createPublicKey, type KeyObject } from 'node:crypto';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { type Clock, steadyClock } from '../../core/time.ts';
import { type GuardedFetchOptions, guardedFetch } from '../../egress/guarded-fetch.ts';
import type { Algorithm, IssuerKey } from './jwt.ts';

export interface KeySourceOptions {
  /** Where the keys of every issuer are; without it each issuer's own metadata says it. */
  readonly jwksUrl?: string | undefined;
  readonly clock?: Clock;
}

/** The keys that issuers sign with, fetched when they are needed. */
export type KeysOf = (issuer: string, kid: string | undefined) => Promise<readonly IssuerKey[]>;

const FRESH_MS = 10 * 60_000;
/** How long keys are still good when the issuer does not answer. */
const STALE_MS = 60 * 60_000;
/** Whoever sends tokens with names of keys that nobody has makes us ask no more often than this. */
const RETRY_MS = 10_000;
const MAX_BYTES = 256 * 1024;
const MAX_KEYS = 100;
const MIN_RSA_BITS = 2048;

interface Ring {
  keys: readonly IssuerKey[];
  fetchedAt: number;
  triedAt: number;
  failure: unknown;
  pending: Promise<void> | undefined;
}

/** Keeps each issuer's keys, asks again when they are old, and once more for a key that is not among them. */
export function keySource({ jwksUrl, clock = steadyClock }: KeySourceOptions): KeysOf {
  const rings = new Map<string, Ring>();
  const never = Number.NEGATIVE_INFINITY;

  function refresh(issuer: string, ring: Ring): Promise<void> {
    if (clock() - ring.triedAt < RETRY_MS) return ring.pending ?? Promise.resolve();
    ring.triedAt = clock();
    ring.pending = fetchKeys(issuer, jwksUrl)
      .then(
        (keys) => Object.assign(ring, { keys, fetchedAt: clock(), failure: undefined }),
        (failure) => Object.assign(ring, { failure }),
      )
      .then(() => {
        ring.pending = undefined;
      });
    return ring.pending;
  }

  return async function keysOf(issuer, kid) {
    const known = rings.get(issuer);
    const ring = known ?? { keys: [], fetchedAt: never, triedAt: never, failure: undefined, pending: undefined };
    rings.set(issuer, ring);
    if (clock() - ring.fetchedAt > FRESH_MS) await refresh(issuer, ring);
    const named = () => (kid === undefined ? ring.keys : ring.keys.filter((key) => key.kid === kid));
    if (named().length === 0) await refresh(issuer, ring);
    if (clock() - ring.fetchedAt > STALE_MS) throw unavailable(issuer, ring.failure);
    return named();
  };
}

const unavailable = (issuer: string, cause: unknown) =>
  new HeddleError('UPSTREAM_UNREACHABLE', `The keys of ${issuer} cannot be had: ${HeddleError.from(cause).message}`, {
    fix: 'Check `gateway.auth`, and whether the issuer answers.',
    cause,
  });

async function fetchKeys(issuer: string, jwksUrl: string | undefined): Promise<readonly IssuerKey[]> {
  const written = new URL(jwksUrl ?? issuer);
  const found = jwksUrl ?? (await discoverKeys(issuer));
  const document = await getJson(found, trustIn(written, new URL(found)));
  const keys = isObject(document) && Array.isArray(document.keys) ? document.keys : [];
  return keys.slice(0, MAX_KEYS).flatMap((jwk: unknown) => (isObject(jwk) ? toIssuerKey(jwk) : []));
}

/** Where an issuer says its keys are: RFC 8414 first, then OpenID's older place. */
async function discoverKeys(issuer: string): Promise<string> {
  const url = new URL(issuer);
  const path = url.pathname.replace(/\/$/, '');
  const places = [
    `${url.origin}/.well-known/oauth-authorization-server${path}`,
    `${url.origin}${path}/.well-known/openid-configuration`,
  ];
  for (const place of places) {
    const said = await getJson(place, trustIn(url, url));
    // Another name than the one that was asked for is another issuer, whoever sends it.
    if (!isObject(said) || said.issuer !== issuer || typeof said.jwks_uri !== 'string') continue;
    if (URL.canParse(said.jwks_uri)) return said.jwks_uri;
  }
  throw new HeddleError('UPSTREAM_UNREACHABLE', `${issuer} does not say where its keys are.`);
}

/** What a person has written down may be near; what that place names may be no nearer, unless it is the same host. */
function trustIn(written: URL, asked: URL): GuardedFetchOptions {
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(written.hostname);
  return { allowLoopback: isHere, allowPrivate: asked.host === written.host, maxBytes: MAX_BYTES };
}

async function getJson(address: string, options: GuardedFetchOptions): Promise<unknown> {
  const { status, body } = await guardedFetch(address, { ...options, headers: { accept: 'application/json' } });
  if (status !== 200) return undefined;
  try {
    return parseJson(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** A published key, if it is one that may sign tokens; the ways it may do so follow from its kind. */
function toIssuerKey(jwk: JsonObject): readonly IssuerKey[] {
  const { kid, use, key_ops, alg } = jwk;
  const forSigning = (use ?? 'sig') === 'sig' && (!Array.isArray(key_ops) || key_ops.includes('verify'));
  const key = forSigning ? publicKeyOf(jwk) : undefined;
  if (!key) return [];
  const algorithms = waysOf(key).filter((one) => alg === undefined || alg === one);
  return [{ kid: typeof kid === 'string' ? kid : undefined, algorithms, key }];
}

function publicKeyOf({ kty, crv, n, e, x, y }: JsonObject): KeyObject | undefined {
  try {
    // Only what is public: a key that has been published with its secret half is everybody's.
    return createPublicKey({ key: JSON.parse(JSON.stringify({ kty, crv, n, e, x, y })), format: 'jwk' });
  } catch {
    return undefined;
  }
}

function waysOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): readonly Algorithm[] {
  if (type === 'rsa') return (details?.modulusLength ?? 0) >= MIN_RSA_BITS ? ['RS256', 'PS256'] : [];
  if (type === 'ec') return details?.namedCurve === 'prime256v1' ? ['ES256'] : [];
  return type === 'ed25519' ? ['EdDSA'] : [];
}
