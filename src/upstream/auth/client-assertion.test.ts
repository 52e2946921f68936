import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { clientAssertion } from './client-assertion.ts';

const NOW = Date.parse('2026-11-17T08:00:00Z');
const ISSUER = 'https://as.example/tenant';

const pem = (type: 'ec' | 'rsa' | 'ed25519', options = {}) =>
  (generateKeyPairSync as (type: string, options: object) => ReturnType<typeof generateKeyPairSync>)(type, {
    namedCurve: 'P-256',
    modulusLength: 2048,
    ...options,
  }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;

const assert = (privateKey: string, algorithms?: readonly string[]) =>
  clientAssertion({ server: 'demo', privateKey, clientId: 'me', issuer: ISSUER, algorithms, clock: () => NOW });

describe('client assertions', () => {
  const KEYS = [
    ['ES256', 'ec', undefined],
    ['RS256', 'rsa', ['RS256', 'PS256']],
    ['PS256', 'rsa', ['PS256']],
    ['EdDSA', 'ed25519', ['EdDSA']],
  ] as const;
  for (const [alg, type, algorithms] of KEYS) {
    verifies('A4', `signs a client assertion with ${alg} for a key of type ${type}`, async () => {
      const key = pem(type);
      const { client_assertion, client_assertion_type } = await assert(key, algorithms);
      expect(client_assertion_type).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
      const options = { currentDate: new Date(NOW), issuer: 'me', subject: 'me', audience: ISSUER };
      const verified = await jwtVerify(client_assertion ?? '', createPublicKey(key), options);
      expect(verified.protectedHeader).toEqual({ alg });
      expect(verified.payload).toMatchObject({ aud: ISSUER, exp: NOW / 1000 + 60, jti: expect.any(String) });
    });
  }

  it('gives each assertion a jti of its own', async () => {
    const key = pem('ec');
    expect((await assert(key)).client_assertion).not.toBe((await assert(key)).client_assertion);
  });

  it('rejects text that is not a key without quoting it', async () => {
    const failed = await assert('-----BEGIN MARKER').catch((error) => error);
    expect(failed).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('demo') });
    expect(JSON.stringify([failed, failed.message, failed.cause])).not.toContain('MARKER');
  });

  it('rejects keys of other curves and short RSA keys', async () => {
    await expect(assert(pem('ec', { namedCurve: 'P-384' }))).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect(assert(pem('rsa', { modulusLength: 1024 }))).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('names the algorithm if the authorization server does not accept it', async () => {
    await expect(assert(pem('ec'), ['RS256'])).rejects.toMatchObject({ code: 'AUTH_REFUSED', message: /no ES256/ });
  });
});
