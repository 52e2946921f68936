import { createHash } from 'node:crypto';
import { calculateJwkThumbprint, EmbeddedJWK, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { dpopSigner, dpopSignerAt, dpopSignerFor, generateDpopKey, newDpopNonces } from './dpop.ts';

const NOW = Date.parse('2026-11-17T08:00:00Z');
const url = new URL('https://mcp.example/v1/mcp?tenant=a#top');
const sign = (key = generateDpopKey(), nonces = newDpopNonces()) => dpopSigner(key, { nonces, clock: () => NOW });
const open = (proof: string) => jwtVerify(proof, EmbeddedJWK, { currentDate: new Date(NOW), typ: 'dpop+jwt' });

describe('DPoP proofs', () => {
  verifies('A4', 'binds a proof to the method, the URL without query, the time and the access token', async () => {
    const { payload, protectedHeader } = await open(sign().proofFor({ method: 'POST', url, accessToken: 'token' }));
    expect(protectedHeader).toMatchObject({ alg: 'ES256', typ: 'dpop+jwt' });
    expect(payload).toEqual({
      jti: expect.any(String),
      htm: 'POST',
      htu: 'https://mcp.example/v1/mcp',
      iat: NOW / 1000,
      ath: createHash('sha256').update('token').digest('base64url'),
    });
  });

  it('publishes only the public half of the key', async () => {
    const key = generateDpopKey();
    const { protectedHeader } = await open(sign(key).proofFor({ method: 'POST', url }));
    expect(protectedHeader.jwk).toEqual({ kty: 'EC', crv: 'P-256', x: key.x, y: key.y });
    expect(await calculateJwkThumbprint(protectedHeader.jwk ?? {})).toBe(await calculateJwkThumbprint(key));
  });

  it('makes a proof of its own for each request, without `ath` at a token endpoint', async () => {
    const signer = sign();
    const first = await open(signer.proofFor({ method: 'POST', url }));
    const second = await open(signer.proofFor({ method: 'POST', url }));
    expect(first.payload).not.toHaveProperty('ath');
    expect(second.payload.jti).not.toBe(first.payload.jti);
  });

  it('sends the newest nonce of an origin to that origin only', async () => {
    const signer = sign();
    expect(signer.takeNonce(url, 'one')).toBe(true);
    expect(signer.takeNonce(new URL('/other', url), 'two')).toBe(true);
    expect(signer.takeNonce(url, 'two')).toBe(false);
    expect((await open(signer.proofFor({ method: 'GET', url }))).payload.nonce).toBe('two');
    const elsewhere = new URL('https://as.example/token');
    expect((await open(signer.proofFor({ method: 'POST', url: elsewhere }))).payload).not.toHaveProperty('nonce');
  });

  it('ignores a nonce that is too long, malformed or absent', () => {
    const signer = sign();
    for (const nonce of ['', 'a"b', 'a\\b', 'a b', 'ü', 'n'.repeat(1025), undefined, ['a', 'b'], 7]) {
      expect(signer.takeNonce(url, nonce)).toBe(false);
    }
  });

  verifies('A4', 'uses one key for an issuer and a principal, and one nonce for all of them', async () => {
    const keys = new Map<string, ReturnType<typeof generateDpopKey>>();
    const vault = {
      async dpopKey({ issuer, principal }: { issuer: string; principal: string }, generate: typeof generateDpopKey) {
        const name = JSON.stringify([issuer, principal]);
        const key = keys.get(name) ?? generate();
        keys.set(name, key);
        return key;
      },
    };
    const parts = { vault, clock: () => NOW };
    const ada = await dpopSignerAt(parts, { issuer: 'https://as.example', principal: 'ada' });
    const as = { issuer: 'https://as.example', metadata: { dpop_signing_alg_values_supported: ['ES256'] } };
    const again = await dpopSignerFor(parts, as, 'ada');
    const bob = await dpopSignerFor(parts, as, 'bob');
    expect(again?.privateKey).toEqual(ada.privateKey);
    expect(bob?.privateKey).not.toEqual(ada.privateKey);
    ada.takeNonce(url, 'fresh');
    expect((await open(bob?.proofFor({ method: 'POST', url }) ?? '')).payload.nonce).toBe('fresh');
    expect(await dpopSignerFor(parts, { ...as, metadata: {} }, 'ada')).toBeUndefined();
  });
});
