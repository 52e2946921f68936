import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import type { JsonObject } from '../../../core/call.ts';
import { idTokenExpiry, verifyIdToken } from './id-token.ts';

const NOW = Date.parse('2026-11-17T08:00:00Z');
const SECONDS = NOW / 1000;
const ISSUER = 'https://idp.example';
const CLAIMS = { iss: ISSUER, sub: 'ada', aud: 'me', nonce: 'n', iat: SECONDS, exp: SECONDS + 300 };

describe('ID tokens', () => {
  let key: CryptoKey;
  let keys: JsonObject;
  beforeAll(async () => {
    const pair = await generateKeyPair('ES256');
    key = pair.privateKey;
    keys = { keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'a' }] } as JsonObject;
  });

  const sign = (claims: object, signer: CryptoKey | Uint8Array = key, alg = 'ES256') =>
    new SignJWT({ ...CLAIMS, ...claims }).setProtectedHeader({ alg }).sign(signer);
  const verify = (token: string) =>
    verifyIdToken(token, { issuer: ISSUER, clientId: 'me', nonce: 'n', keys, clock: () => NOW });

  verifies('A5', 'accepts an ID token that the provider signed for this sign-in', async () => {
    await expect(verify(await sign({}))).resolves.toBeUndefined();
    await expect(verify(await sign({ aud: ['me', 'other'], azp: 'me' }))).resolves.toBeUndefined();
  });

  const WRONG = [
    ['another issuer', { iss: `${ISSUER}/` }, /iss/],
    ['another audience', { aud: 'other' }, /aud/],
    ['another nonce', { nonce: 'm' }, /another sign-in/],
    ['no nonce', { nonce: undefined }, /another sign-in/],
    ['several audiences and no azp', { aud: ['me', 'other'] }, /another client/],
    ['another azp', { azp: 'other' }, /another client/],
    ['an expiry in the past', { exp: SECONDS - 61 }, /exp/i],
    ['no subject', { sub: undefined }, /sub/],
  ] as const;
  for (const [defect, claims, message] of WRONG) {
    verifies('A5', `rejects an ID token with ${defect}`, async () => {
      await expect(verify(await sign(claims))).rejects.toMatchObject({ code: 'AUTH_REFUSED', message });
    });
  }

  verifies('A5', 'rejects an ID token that another key or a shared secret signed, or none', async () => {
    const other = (await generateKeyPair('ES256')).privateKey;
    await expect(verify(await sign({}, other))).rejects.toMatchObject({ code: 'AUTH_REFUSED' });
    await expect(verify(await sign({}, new Uint8Array(32), 'HS256'))).rejects.toMatchObject({ code: 'AUTH_REFUSED' });
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${(await sign({})).split('.')[1]}.`;
    await expect(verify(none)).rejects.toMatchObject({ code: 'AUTH_REFUSED' });
  });

  it('quotes nothing of the token in the error', async () => {
    const failed = await verify(await sign({ aud: 'MARKER', sub: 'MARKER' })).catch((error) => error);
    expect(JSON.stringify([failed.message, failed.details, String(failed.cause)])).not.toContain('MARKER');
  });

  it('reads the expiry without a key', async () => {
    expect(idTokenExpiry(await sign({}))).toBe(NOW + 300_000);
    expect(idTokenExpiry('garbage')).toBe(0);
  });
});
