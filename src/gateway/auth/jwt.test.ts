import { createHmac, createPublicKey, type JsonWebKey, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import {
  forgedToken,
  openIssuer,
  type SigningAlgorithm,
  type SigningKey,
  signedToken,
  signingKey,
} from '../../../test/servers/issuer.ts';
import { text } from '../../../test/servers/recording-server.ts';
import { AUDIENCE, jwksRequests, SECONDS, tokenGateway } from '../../../test/servers/token-gateway.ts';
import type { JsonObject } from '../../core/call.ts';
import { gatewayUnderTest } from '../fixtures.ts';

describe('verifyToken', () => {
  for (const algorithm of ['RS256', 'PS256', 'ES256', 'EdDSA'] as const satisfies readonly SigningAlgorithm[]) {
    verifies('P4', `accepts a token signed with ${algorithm} and names the caller by its subject`, async () => {
      const { callWithClaims, gateway, issuer } = await tokenGateway({ keys: [signingKey('one', algorithm)] });
      expect((await callWithClaims({}, { alg: algorithm })).json).toMatchObject({ result: text('here') });
      const calls = (await gateway.audit()).filter(({ name }) => name === 'mcp__up__echo');
      expect(new Set(calls.map(({ caller }) => caller))).toEqual(new Set([`${issuer.url}#ada`]));
    });
  }

  verifies('P4', 'accepts every access token type, one of several audiences, and 60 s of clock skew', async () => {
    const { callWithClaims } = await tokenGateway();
    for (const typ of ['at+jwt', 'AT+JWT', 'application/at+jwt', 'JWT', undefined]) {
      expect((await callWithClaims({}, { typ })).status).toBe(200);
    }
    expect((await callWithClaims({ aud: ['https://other.example', AUDIENCE] })).status).toBe(200);
    expect((await callWithClaims({ exp: SECONDS - 59 })).status).toBe(200);
    expect((await callWithClaims({ nbf: SECONDS + 59 })).status).toBe(200);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['a `kid` that is a number', {}, { kid: 7 }],
    ['an `iat` that is a string', { iat: 'today' }, {}],
    ['an `iat` in the future', { iat: SECONDS + 9999 }, {}],
  ])('P4: accepts a token with %s', async (_what, claims, header) => {
    const { callWithClaims } = await tokenGateway();
    expect((await callWithClaims(claims, header)).status).toBe(200);
  });

  verifies('P4', 'does not pass the token on to a server', async () => {
    const { callWithClaims, up, claims } = await tokenGateway();
    await callWithClaims();
    expect(up.calls).toHaveLength(1);
    expect(JSON.stringify(up.calls)).not.toMatch(new RegExp(`authorization|bearer|${claims.sub}`, 'i'));
  });

  verifies('P4', 'finds the metadata of an issuer whose URL has a path', async () => {
    const { callWithClaims, issuer } = await tokenGateway({ path: '/tenant/a' });
    expect((await callWithClaims()).status).toBe(200);
    expect(issuer.requestedPaths).toEqual(['/.well-known/oauth-authorization-server/tenant/a', '/jwks']);
  });

  verifies('P4', 'accepts one of several issuers with keys from `jwksUrl`', async () => {
    const keys = await openIssuer([]);
    const { callWithClaims, issuer, claims, callWithToken, key } = await tokenGateway({
      auth: { issuer: ['https://a.example', 'https://b.example'], jwksUrl: `${keys.url}/jwks` },
    });
    keys.keys = issuer.keys;
    expect((await callWithClaims({ iss: 'https://b.example' })).status).toBe(200);
    expect((await callWithToken(signedToken(key, { ...claims, iss: 'https://c.example' }))).status).toBe(401);
    expect(issuer.requestedPaths).toEqual([]);
  });
});

describe('verifyToken refuses a token', () => {
  it.each<[string, JsonObject, JsonObject, RegExp]>([
    ['from an unknown issuer', { iss: 'https://evil.example' }, {}, /another issuer/],
    ['from an issuer with the same prefix', { iss: 'http://127.0.0.1' }, {}, /another issuer/],
    ['without an issuer', { iss: undefined }, {}, /another issuer/],
    ['with a list of issuers', { iss: ['a'] }, {}, /another issuer/],
    ['for another audience', { aud: 'https://other.example/mcp' }, {}, /another audience/],
    ['for an audience with the same prefix', { aud: `${AUDIENCE}/x` }, {}, /another audience/],
    ['without an audience', { aud: undefined }, {}, /another audience/],
    ['for an audience that is a pattern', { aud: '*' }, {}, /another audience/],
    ['that has expired', { exp: SECONDS - 60 }, {}, /expired/],
    ['without `exp`', { exp: undefined }, {}, /expired/],
    ['whose `exp` is a string', { exp: '9999999999' }, {}, /expired/],
    ['that is not valid yet', { nbf: SECONDS + 61 }, {}, /not valid yet/],
    ['whose `nbf` is a string', { nbf: '0' }, {}, /not valid yet/],
    ['without a subject', { sub: undefined }, {}, /no subject/],
    ['with an empty subject', { sub: '' }, {}, /no subject/],
    ['that is an ID token', {}, { typ: 'id+jwt' }, /not an access token/],
    ['with a `crit` header', {}, { crit: ['b64'], b64: false }, /not an access token/],
    ['with an unknown `kid`', {}, { kid: 'other' }, /signature/],
    ['with another algorithm than its key', {}, { alg: 'EdDSA' }, /signature|sign/],
  ])('P4: %s', async (_what, claims, header, reason) => {
    const { claims: good, key, callWithToken, up } = await tokenGateway();
    const token = forgedOr(key, { ...good, ...claims }, header);
    const { status, json, headers } = await callWithToken(token);
    expect([status, json.error]).toEqual([401, expect.stringMatching(reason)]);
    expect(headers['www-authenticate']).toContain('error="invalid_token"');
    expect(up.calls).toEqual([]);
  });

  /** Signs a token; if the header names an algorithm, the signature is random. */
  function forgedOr(key: SigningKey, claims: JsonObject, header: JsonObject): string {
    if (header.alg === undefined) return signedToken(key, claims, header);
    return forgedToken({ kid: key.jwk.kid, ...header }, claims, () => randomBytes(64));
  }

  const FORGERIES: readonly [string, (key: SigningKey) => [JsonObject, (text: string) => Buffer]][] = [
    ['with the algorithm none', () => [{ alg: 'none' }, () => Buffer.from('x')]],
    ['with the algorithm none and no signature', () => [{ alg: 'none' }, () => Buffer.alloc(0)]],
    ['with the algorithm NoNe', () => [{ alg: 'NoNe' }, () => Buffer.from('x')]],
    ['with HS256 and the public key as the secret', ({ jwk }) => [{ alg: 'HS256' }, hmac(pem(jwk))]],
    ['with HS256 and the published JWK as the secret', ({ jwk }) => [{ alg: 'HS256' }, hmac(JSON.stringify(jwk))]],
    ['with RS256 and an HMAC of the public key', ({ jwk }) => [{ alg: 'RS256' }, hmac(pem(jwk))]],
    ['with RS512', ({ secret }) => [{ alg: 'RS512' }, () => Buffer.from(secret.type)]],
    [
      'with a key in its header',
      () => [{ alg: 'RS256', jwk: signingKey('mine', 'RS256').jwk }, () => randomBytes(256)],
    ],
  ];
  const hmac = (secret: string) => (signed: string) => createHmac('sha256', secret).update(signed).digest();
  const pem = (key: JsonObject) =>
    createPublicKey({ key: key as JsonWebKey, format: 'jwk' })
      .export({ type: 'spki', format: 'pem' })
      .toString();

  for (const [what, forge] of FORGERIES) {
    verifies('P4', what, async () => {
      const { claims, key, callWithToken } = await tokenGateway({ keys: [signingKey('one', 'RS256')] });
      const [header, toSignature] = forge(key);
      expect((await callWithToken(forgedToken({ kid: 'one', ...header }, claims, toSignature))).status).toBe(401);
    });
  }

  verifies(
    'P4',
    'without a signature, with a fourth part, in another base64url spelling, or over 8192 characters',
    async () => {
      const { claims, key, callWithToken, issuer } = await tokenGateway();
      const good = signedToken(key, claims);
      const [head, body, signature = ''] = good.split('.');
      const padded = signature.endsWith('=') ? signature : `${signature}==`;
      const huge = signedToken(key, { ...claims, more: 'x'.repeat(9000) });
      const odd = [
        `${head}.${body}.`,
        `${head}.${body}`,
        `${good}.x`,
        `${head}.${body}.${padded}`,
        huge,
        `.${body}.x`,
        '..',
        'a.b.c',
      ];
      for (const token of odd)
        expect([token.slice(-20), (await callWithToken(token)).status]).toEqual([token.slice(-20), 401]);
      const flipped = `${head}.${body}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
      expect((await callWithToken(flipped)).status).toBe(401);
      expect(jwksRequests(issuer)).toBe(1);
      expect((await callWithToken(good)).status).toBe(200);
    },
  );

  const encode = (text: string) => Buffer.from(text).toString('base64url');
  it.each<[string, string]>([
    ['is opaque', 'abc'],
    ['has a header that is not JSON', `${encode('not JSON')}.${encode('{}')}.${encode('x')}`],
    ['has a header that is a list', `${encode('[]')}.${encode('{}')}.${encode('x')}`],
    ['has claims that are not JSON', `${encode('{"alg":"ES256"}')}.${encode('not JSON')}.${encode('x')}`],
    ['has a repeated claim', `${encode('{"alg":"ES256"}')}.${encode('{"sub":"a","sub":"b"}')}.${encode('x')}`],
    ['has five parts', 'YQ.YQ.YQ.YQ.YQ'],
  ])('P4: as not a valid JWT if it %s', async (_what, token) => {
    const { callWithToken, issuer } = await tokenGateway();
    const { status, json } = await callWithToken(token);
    expect([status, json.error]).toEqual([401, 'The token is not a valid JWT.']);
    expect(issuer.requestedPaths).toEqual([]);
  });

  verifies('P4', 'before it fetches keys if a claim is invalid', async () => {
    const { callWithClaims, issuer } = await tokenGateway();
    issuer.down = true;
    const invalid = [{ aud: 'x' }, { exp: SECONDS - 60 }, { nbf: SECONDS + 61 }, { sub: '' }, { iss: 'x' }];
    for (const claims of invalid) expect([claims, (await callWithClaims(claims)).status]).toEqual([claims, 401]);
    expect(issuer.requestedPaths).toEqual([]);
  });

  verifies('P4', 'with an algorithm that the configuration leaves out', async () => {
    const { callWithClaims } = await tokenGateway({ auth: { algorithms: ['EdDSA'] } });
    expect((await callWithClaims()).status).toBe(401);
  });

  verifies('P4', 'if `gateway.auth` is not set', async () => {
    const key = signingKey('one');
    const { post } = await gatewayUnderTest();
    const token = signedToken(key, { iss: 'x', aud: AUDIENCE, sub: 'ada', exp: Date.now() / 1000 + 300 });
    const { status, headers } = await post({ id: 1, method: 'ping' }, { authorization: `Bearer ${token}` });
    expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer']);
  });
});
