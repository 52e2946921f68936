import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import {
  published,
  type SigningAlgorithm,
  type SigningKey,
  signedToken,
  signingKey,
} from '../../../test/servers/issuer.ts';
import { jwksRequests, SECONDS, tokenGateway } from '../../../test/servers/token-gateway.ts';
import type { JsonObject } from '../../core/call.ts';

describe('issuerKeys', () => {
  verifies('P4', 'fetches keys once, and again for an unknown kid, at most every 10 s', async () => {
    const { callWithClaims, callWithToken, claims, issuer, advanceSeconds } = await tokenGateway();
    for (let times = 0; times < 5; times++) expect((await callWithClaims()).status).toBe(200);
    expect(jwksRequests(issuer)).toBe(1);
    const next = signingKey('two', 'EdDSA');
    issuer.keys = [next.jwk];
    const token = signedToken(next, claims, { alg: 'EdDSA' });
    const unknown = signedToken(signingKey('three'), claims);
    expect((await callWithToken(token)).status).toBe(401); // The last fetch was less than 10 s ago.
    advanceSeconds(10);
    const all = await Promise.all([callWithToken(token), callWithToken(token), callWithToken(unknown)]);
    expect(all.map(({ status }) => status)).toEqual([200, 200, 401]);
    for (let times = 0; times < 5; times++) expect((await callWithToken(unknown)).status).toBe(401);
    expect(jwksRequests(issuer)).toBe(2);
    expect((await callWithClaims()).status).toBe(401); // The old key is gone.
  });

  verifies('P4', 'drops removed keys after 10 minutes', async () => {
    const { callWithClaims, issuer, advanceSeconds } = await tokenGateway();
    expect((await callWithClaims({ exp: SECONDS + 9999 })).status).toBe(200);
    issuer.keys = [];
    advanceSeconds(9 * 60);
    expect((await callWithClaims({ exp: SECONDS + 9999 })).status).toBe(200);
    advanceSeconds(61);
    expect((await callWithClaims({ exp: SECONDS + 9999 })).status).toBe(401);
  });

  verifies('P4', 'uses keys for 60 minutes while the issuer is down, then responds with 503', async () => {
    const { callWithClaims, issuer, advanceSeconds } = await tokenGateway();
    expect((await callWithClaims()).status).toBe(200);
    issuer.down = true;
    advanceSeconds(59 * 60);
    expect((await callWithClaims({ exp: SECONDS + 9999 })).status).toBe(200);
    advanceSeconds(2 * 60);
    const { status, json, headers } = await callWithClaims({ exp: SECONDS + 9999 });
    expect([status, json.error]).toEqual([503, expect.stringContaining(`The keys of ${issuer.url} cannot be fetched`)]);
    expect(headers['www-authenticate']).toBeUndefined();
    issuer.down = false;
    advanceSeconds(10);
    expect((await callWithClaims({ exp: SECONDS + 9999 })).status).toBe(200);
  });

  verifies(
    'P4',
    'responds to an expired token with 401 while the issuer is down and its keys are too old',
    async () => {
      const { callWithClaims, issuer, advanceSeconds } = await tokenGateway();
      expect((await callWithClaims()).status).toBe(200);
      issuer.down = true;
      advanceSeconds(61 * 60);
      const { status, json } = await callWithClaims();
      expect([status, json.error]).toEqual([401, expect.stringContaining('expired')]);
    },
  );

  verifies('P4', 'accepts either of two keys with one kid, for 60 minutes while the issuer is down', async () => {
    const keys = [signingKey('one'), signingKey('one')] as const;
    const { callWithToken, claims, issuer, advanceSeconds } = await tokenGateway({ keys });
    const statuses = () =>
      Promise.all(
        keys.map(async (key) => (await callWithToken(signedToken(key, { ...claims, exp: SECONDS + 9999 }))).status),
      );
    expect(await statuses()).toEqual([200, 200]);
    issuer.down = true;
    advanceSeconds(61 * 60);
    expect(await statuses()).toEqual([503, 503]);
  });

  it.each<[string, JsonObject]>([
    ['`key_ops` with `sign`', { key_ops: ['sign', 'verify'] }],
    ['repeated `key_ops`', { key_ops: ['verify', 'verify'] }],
    ['`key_ops` null', { key_ops: null }],
    ['`use` null', { use: null }],
    ['a private member', { d: 'c2VjcmV0' }],
  ])('P4: accepts a key with %s', async (_what, members) => {
    const { callWithClaims } = await tokenGateway({ keys: [signingKey('one', 'ES256', members)] });
    expect((await callWithClaims()).status).toBe(200);
  });

  const MALFORMED: readonly [string, JsonObject][] = [
    ['has a point that is not on its curve', { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA' }],
    ['lacks its coordinates', { kty: 'EC', crv: 'P-256' }],
  ];
  it.each(MALFORMED)('P4: ignores a key that %s when it selects one without a kid', async (_what, jwk) => {
    const { callWithClaims, issuer } = await tokenGateway();
    issuer.keys = [{ ...jwk, kid: 'bad' }, ...issuer.keys];
    expect((await callWithClaims({}, { kid: undefined })).status).toBe(200);
  });

  it.each(MALFORMED)('P4: fetches keys again for the kid of a key that %s', async (_what, jwk) => {
    const { callWithClaims, issuer, advanceSeconds } = await tokenGateway();
    const good = issuer.keys;
    issuer.keys = [{ ...jwk, kid: 'one' }];
    expect((await callWithClaims()).status).toBe(401);
    issuer.keys = good;
    advanceSeconds(10);
    expect((await callWithClaims()).status).toBe(200);
    expect(jwksRequests(issuer)).toBe(2);
  });

  const WRONG_KEYS: readonly [string, SigningKey, SigningAlgorithm][] = [
    ['too short', published(generateKeyPairSync('rsa', { modulusLength: 1024 }), 'one'), 'RS256'],
    ['for encryption', signingKey('one', 'RS256', { use: 'enc' }), 'RS256'],
    ['for other operations', signingKey('one', 'RS256', { key_ops: ['encrypt'] }), 'RS256'],
    ['for another algorithm', signingKey('one', 'RS256', { alg: 'PS256' }), 'RS256'],
    ['symmetric', { ...signingKey('one', 'ES256'), jwk: { kty: 'oct', k: 'c2VjcmV0', kid: 'one' } }, 'ES256'],
    ['on another curve', published(generateKeyPairSync('ec', { namedCurve: 'P-384' }), 'one'), 'ES256'],
    ['without a type', { ...signingKey('one', 'ES256'), jwk: { kid: 'one' } }, 'ES256'],
  ];
  it.each(WRONG_KEYS)('P4: refuses a key that is %s', async (_what, key, alg) => {
    const { callWithClaims } = await tokenGateway({ keys: [key] });
    expect((await callWithClaims({}, { alg })).status).toBe(401);
  });

  verifies('P4', 'needs a kid only if several keys match', async () => {
    const [one, two] = [signingKey('one'), signingKey('two')];
    expect((await (await tokenGateway({ keys: [one] })).callWithClaims({}, { kid: undefined })).status).toBe(200);
    expect((await (await tokenGateway({ keys: [one, two] })).callWithClaims({}, { kid: undefined })).status).toBe(401);
    const others = [one, signingKey('two', 'EdDSA')];
    expect((await (await tokenGateway({ keys: others })).callWithClaims({}, { kid: undefined })).status).toBe(200);
  });

  verifies('P4', 'ignores metadata of another issuer', async () => {
    const { callWithClaims, issuer } = await tokenGateway();
    issuer.metadata = { issuer: 'https://other.example' };
    expect((await callWithClaims()).status).toBe(503);
    expect(jwksRequests(issuer)).toBe(0);
  });

  verifies('P4', 'does not fetch keys from a private address that only the metadata names', async () => {
    const { callWithClaims, issuer } = await tokenGateway();
    issuer.metadata = { jwks_uri: 'https://10.0.0.1/jwks' };
    const { status, json } = await callWithClaims();
    expect([status, json.error]).toEqual([503, expect.stringContaining('private network')]);
  });
});
