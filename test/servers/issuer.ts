import { constants, generateKeyPairSync, type JsonWebKey, type KeyObject, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';

/** A key pair. The public key is a JWK, as published. */
export interface SigningKey {
  readonly secret: KeyObject;
  readonly jwk: JsonObject & { readonly kid: string };
}

/** The parts of an authorization server that token verification needs: metadata and JWKS. */
export interface Issuer {
  readonly url: string;
  /** The published keys. Tests may replace them. */
  keys: readonly JsonObject[];
  /** Additional metadata fields. Tests may replace them. */
  metadata: JsonObject;
  /** Makes every request fail with 503. */
  down: boolean;
  /** The paths of all requests, in order. */
  readonly requestedPaths: readonly string[];
}

const MAKE = {
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  PS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
} as const;

export type SigningAlgorithm = keyof typeof MAKE;

export function signingKey(kid: string, algorithm: SigningAlgorithm = 'ES256', more: JsonObject = {}): SigningKey {
  return published(MAKE[algorithm](), kid, more);
}

export function published(pair: { publicKey: KeyObject; privateKey: KeyObject }, kid: string, more: JsonObject = {}) {
  const jwk = pair.publicKey.export({ format: 'jwk' }) as JsonWebKey & JsonObject;
  return { secret: pair.privateKey, jwk: { ...jwk, kid, ...more } };
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Signs a token with any claims, by the algorithm of its header. */
export function signedToken(key: SigningKey, claims: JsonObject, header: JsonObject = {}): string {
  const fullHeader = { alg: 'ES256', kid: key.jwk.kid, typ: 'at+jwt', ...header };
  const text = `${encode(fullHeader)}.${encode(claims)}`;
  const options = {
    PS256: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
    ES256: { dsaEncoding: 'ieee-p1363' as const },
  }[String(fullHeader.alg)];
  const signature = sign(fullHeader.alg === 'EdDSA' ? null : 'sha256', Buffer.from(text), {
    key: key.secret,
    ...options,
  });
  return `${text}.${signature.toString('base64url')}`;
}

/** Creates a token with the signature that `toSignature` returns. */
export function forgedToken(header: JsonObject, claims: JsonObject, toSignature: (text: string) => Buffer): string {
  const text = `${encode(header)}.${encode(claims)}`;
  return `${text}.${toSignature(text).toString('base64url')}`;
}

/** Starts an issuer with its metadata under `path`. It is closed when the test ends. */
export async function openIssuer(keys: readonly JsonObject[], path = ''): Promise<Issuer> {
  const requestedPaths: string[] = [];
  const issuer: { -readonly [Key in keyof Issuer]: Issuer[Key] } = {
    url: '',
    keys,
    metadata: {},
    down: false,
    requestedPaths,
  };
  const server = createServer((request, response) => {
    requestedPaths.push(request.url ?? '');
    const documents: Record<string, JsonObject> = {
      [`/.well-known/oauth-authorization-server${path}`]: {
        issuer: issuer.url,
        jwks_uri: `${origin}/jwks`,
        ...issuer.metadata,
      },
      '/jwks': { keys: issuer.keys },
    };
    const found = issuer.down ? undefined : documents[request.url ?? ''];
    response.writeHead(found ? 200 : 503, { 'content-type': 'application/json' }).end(JSON.stringify(found ?? {}));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  issuer.url = `${origin}${path}`;
  return issuer;
}
