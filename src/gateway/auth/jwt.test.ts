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
import { AUDIENCE, jwksAsked, SECONDS, tokenGateway } from '../../../test/servers/token-gateway.ts';
import type { JsonObject } from '../../core/call.ts';
import { gatewayUnderTest } from '../fixtures.ts';

describe('a token of the issuer', () => {
  for (const algorithm of ['RS256', 'PS256', 'ES256', 'EdDSA'] as const satisfies readonly SigningAlgorithm[]) {
    verifies('P4', `opens when it is signed with ${algorithm}, and its subject is the caller`, async () => {
      const { comeWith, gateway, issuer } = await tokenGateway({ keys: [signingKey('one', algorithm)] });
      expect((await comeWith({}, { alg: algorithm })).json).toMatchObject({ result: text('here') });
      const calls = (await gateway.audit()).filter(({ name }) => name === 'mcp__up__echo');
      expect(new Set(calls.map(({ caller }) => caller))).toEqual(new Set([`${issuer.url}#ada`]));
    });
  }

  verifies('P4', 'opens under any usual type, for one audience of several, within a minute of its times', async () => {
    const { comeWith } = await tokenGateway();
    for (const typ of ['at+jwt', 'AT+JWT', 'application/at+jwt', 'JWT', undefined]) {
      expect((await comeWith({}, { typ })).status).toBe(200);
    }
    expect((await comeWith({ aud: ['https://other.example', AUDIENCE] })).status).toBe(200);
    expect((await comeWith({ exp: SECONDS - 59 })).status).toBe(200);
    expect((await comeWith({ nbf: SECONDS + 59 })).status).toBe(200);
  });

  verifies('P4', 'goes no further: no server is ever shown it', async () => {
    const { comeWith, up, claims } = await tokenGateway();
    await comeWith();
    expect(up.calls).toHaveLength(1);
    expect(JSON.stringify(up.calls)).not.toMatch(new RegExp(`authorization|bearer|${claims.sub}`, 'i'));
  });

  verifies('P4', 'of an issuer whose name has a path is found by that path', async () => {
    const { comeWith, issuer } = await tokenGateway({ path: '/tenant/a' });
    expect((await comeWith()).status).toBe(200);
    expect(issuer.asked).toEqual(['/.well-known/oauth-authorization-server/tenant/a', '/jwks']);
  });

  verifies('P4', 'opens with keys from an address of the configuration, and one of several issuers', async () => {
    const keys = await openIssuer([]);
    const { comeWith, issuer, claims, come, key } = await tokenGateway({
      auth: { issuer: ['https://a.example', 'https://b.example'], jwksUrl: `${keys.url}/jwks` },
    });
    keys.keys = issuer.keys;
    expect((await comeWith({ iss: 'https://b.example' })).status).toBe(200);
    expect((await come(signedToken(key, { ...claims, iss: 'https://c.example' }))).status).toBe(401);
    expect(issuer.asked).toEqual([]);
  });
});

describe('a token that counts for nothing', () => {
  it.each<[string, JsonObject, JsonObject, RegExp]>([
    ['of a foreign issuer', { iss: 'https://evil.example' }, {}, /another issuer/],
    ['of an issuer that only begins the same', { iss: 'http://127.0.0.1' }, {}, /another issuer/],
    ['of no issuer', { iss: undefined }, {}, /another issuer/],
    ['of several issuers', { iss: ['a'] }, {}, /another issuer/],
    ['for another audience', { aud: 'https://other.example/mcp' }, {}, /somebody else/],
    ['for an audience that begins the same', { aud: `${AUDIENCE}/x` }, {}, /somebody else/],
    ['for no audience', { aud: undefined }, {}, /somebody else/],
    ['for an audience that is a pattern', { aud: '*' }, {}, /somebody else/],
    ['that has expired', { exp: SECONDS - 60 }, {}, /expired/],
    ['that never expires', { exp: undefined }, {}, /expired/],
    ['whose end is a text', { exp: '9999999999' }, {}, /expired/],
    ['that is not valid yet', { nbf: SECONDS + 61 }, {}, /not valid yet/],
    ['whose beginning is a text', { nbf: '0' }, {}, /not valid yet/],
    ['of nobody', { sub: undefined }, {}, /whose it is/],
    ['of an empty name', { sub: '' }, {}, /whose it is/],
    ['that is an ID token', {}, { typ: 'id+jwt' }, /not an access token/],
    ['with a demand nobody knows', {}, { crit: ['b64'], b64: false }, /not an access token/],
    ['that names a key nobody has', {}, { kid: 'other' }, /signature/],
    ['that says another algorithm than its key has', {}, { alg: 'EdDSA' }, /signature|sign/],
  ])('P4: %s is refused', async (_what, claims, header, why) => {
    const { claims: good, key, come, up } = await tokenGateway();
    const token = forgedOr(key, { ...good, ...claims }, header);
    const { status, json, headers } = await come(token);
    expect([status, json.error]).toEqual([401, expect.stringMatching(why)]);
    expect(headers['www-authenticate']).toContain('error="invalid_token"');
    expect(up.calls).toEqual([]);
  });

  /** Signed well, except where the header says what the key cannot do. */
  function forgedOr(key: SigningKey, claims: JsonObject, header: JsonObject): string {
    if (header.alg === undefined) return signedToken(key, claims, header);
    return forgedToken({ kid: key.jwk.kid, ...header }, claims, () => randomBytes(64));
  }

  const FORGERIES: readonly [string, (key: SigningKey) => [JsonObject, (text: string) => Buffer]][] = [
    ['of the algorithm none', () => [{ alg: 'none' }, () => Buffer.from('x')]],
    ['of the algorithm none and nothing else', () => [{ alg: 'none' }, () => Buffer.alloc(0)]],
    ['of the algorithm NoNe', () => [{ alg: 'NoNe' }, () => Buffer.from('x')]],
    ['of HS256 with the public key as the secret', ({ jwk }) => [{ alg: 'HS256' }, hmac(pem(jwk))]],
    ['of HS256 with the published text as the secret', ({ jwk }) => [{ alg: 'HS256' }, hmac(JSON.stringify(jwk))]],
    ['of RS256 with the public key as the secret', ({ jwk }) => [{ alg: 'RS256' }, hmac(pem(jwk))]],
    ['of RS512', ({ secret }) => [{ alg: 'RS512' }, () => Buffer.from(secret.type)]],
    ['that brings its own key', () => [{ alg: 'RS256', jwk: signingKey('mine', 'RS256').jwk }, () => randomBytes(256)]],
  ];
  const hmac = (secret: string) => (said: string) => createHmac('sha256', secret).update(said).digest();
  const pem = (key: JsonObject) =>
    createPublicKey({ key: key as JsonWebKey, format: 'jwk' })
      .export({ type: 'spki', format: 'pem' })
      .toString();

  for (const [what, forge] of FORGERIES) {
    verifies('P4', `${what} is refused`, async () => {
      const { claims, key, come } = await tokenGateway({ keys: [signingKey('one', 'RS256')] });
      const [header, toSignature] = forge(key);
      expect((await come(forgedToken({ kid: 'one', ...header }, claims, toSignature))).status).toBe(401);
    });
  }

  verifies('P4', 'one with no signature, too many parts, another spelling or too much in it is refused', async () => {
    const { claims, key, come, issuer } = await tokenGateway();
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
    for (const token of odd) expect([token.slice(-20), (await come(token)).status]).toEqual([token.slice(-20), 401]);
    const flipped = `${head}.${body}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
    expect((await come(flipped)).status).toBe(401);
    expect(jwksAsked(issuer)).toBe(1);
    expect((await come(good)).status).toBe(200);
  });

  verifies('P4', 'one of an algorithm that the configuration leaves out is refused', async () => {
    const { comeWith } = await tokenGateway({ auth: { algorithms: ['EdDSA'] } });
    expect((await comeWith()).status).toBe(401);
  });

  verifies('P4', 'without `gateway.auth` no token opens anything', async () => {
    const key = signingKey('one');
    const { post } = await gatewayUnderTest();
    const token = signedToken(key, { iss: 'x', aud: AUDIENCE, sub: 'ada', exp: Date.now() / 1000 + 300 });
    const { status, headers } = await post({ id: 1, method: 'ping' }, { authorization: `Bearer ${token}` });
    expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer']);
  });
});
