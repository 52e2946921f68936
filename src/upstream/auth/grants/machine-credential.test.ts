import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { type AuthorizationServer, openAuthorizationServer } from '../../../../test/servers/authorization-server.ts';
import { openProtectedServer, type ProtectedServer } from '../../../../test/servers/protected-server.ts';
import { SHARED_PRINCIPAL } from '../../../store/token-vault.ts';
import { clientCredentials } from './client-credentials.ts';
import { credentialRequest, sendWith, testParts } from './fixtures.ts';
import { jwtBearer } from './jwt-bearer.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const grants = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] };

describe('grants without a person', () => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const folder = mkdtempSync(join(tmpdir(), 'heddle-grants-'));
  const assertionFile = join(folder, 'assertion.jwt');
  let workload: { readonly privateKey: CryptoKey; readonly publicJwk: JWK };
  let as: AuthorizationServer;
  let server: ProtectedServer;

  beforeAll(async () => {
    const keys = await generateKeyPair('ES256');
    workload = { privateKey: keys.privateKey, publicJwk: await exportJWK(keys.publicKey) };
    const publicJwk = { ...pair.publicKey.export({ format: 'jwk' }), kid: 'k', use: 'sig', alg: 'ES256' };
    const secret = { client_secret: 'machine-secret', ...grants };
    as = await openAuthorizationServer({
      clients: [
        { client_id: 'basic', ...secret, token_endpoint_auth_method: 'client_secret_basic' },
        { client_id: 'post', ...secret, token_endpoint_auth_method: 'client_secret_post' },
        {
          ...{ client_id: 'key', ...grants, token_endpoint_auth_method: 'private_key_jwt' },
          ...{ token_endpoint_auth_signing_alg: 'ES256', jwks: { keys: [publicJwk] } },
        },
        { client_id: 'pod', ...grants, grant_types: [JWT_BEARER], token_endpoint_auth_method: 'none' },
        { client_id: 'bound', ...secret, dpop_bound_access_tokens: true },
      ] as never,
      trustedIssuers: [{ issuer: 'https://platform.example', publicJwk: workload.publicJwk }],
    });
    server = await openProtectedServer({ era: 'modern', authorizationServers: [as] });
  });
  afterAll(async () => {
    await server.close();
    await as.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const requestsSince = (count: number) => as.tokenRequests.slice(count);
  const assertion = () =>
    new SignJWT({ jti: crypto.randomUUID() })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer('https://platform.example')
      .setSubject('pod-1')
      .setAudience(as.issuer)
      .setExpirationTime('5m')
      .sign(workload.privateKey);

  verifies('A4', 'gets a token by client_credentials with a secret, and keeps it', async () => {
    const now = Date.now();
    const { parts, vault } = await testParts({ clock: () => now });
    const oauth = { grant: 'client_credentials', clientId: 'basic', clientSecret: 'machine-secret' };
    const before = as.tokenRequests.length;
    const credential = clientCredentials(credentialRequest(server.url, oauth), parts);
    expect([await sendWith(credential, server.url), await sendWith(credential, server.url)]).not.toContain(401);
    expect(credential.headersFor({ method: 'POST', url: new URL(server.url) })).not.toBeInstanceOf(Promise);
    const again = clientCredentials(credentialRequest(server.url, oauth), parts);
    expect(await sendWith(again, server.url)).not.toBe(401);
    const [request, ...others] = requestsSince(before);
    expect(others).toEqual([]);
    expect(request?.params).toMatchObject({ grant_type: 'client_credentials', resource: server.url });
    expect(request?.headers.authorization).toMatch(/^Basic /);
    const stored = await vault.find(server.url, SHARED_PRINCIPAL);
    expect(stored).toMatchObject({ issuer: as.issuer, resource: server.url, clientId: 'basic' });
  });

  verifies('A4', 'sends the secret in the form if the authorization server supports only that', async () => {
    as.faults.metadataFields = { token_endpoint_auth_methods_supported: ['client_secret_post'] };
    const oauth = { grant: 'client_credentials', clientId: 'post', clientSecret: 'machine-secret' };
    const before = as.tokenRequests.length;
    try {
      const credential = clientCredentials(credentialRequest(server.url, oauth), (await testParts()).parts);
      expect(await sendWith(credential, server.url)).not.toBe(401);
    } finally {
      delete as.faults.metadataFields;
    }
    expect(requestsSince(before)).toMatchObject([{ params: { client_id: 'post', client_secret: 'machine-secret' } }]);
  });

  verifies('A4', 'authenticates by private_key_jwt for the issuer alone', async () => {
    const oauth = { grant: 'client_credentials', clientId: 'key', privateKey };
    const before = as.tokenRequests.length;
    const credential = clientCredentials(credentialRequest(server.url, oauth), (await testParts()).parts);
    expect(await sendWith(credential, server.url)).not.toBe(401);
    const [request] = requestsSince(before);
    const claims = JSON.parse(
      Buffer.from(request?.params.client_assertion?.split('.')[1] ?? '', 'base64url').toString(),
    );
    expect(claims).toMatchObject({ iss: 'key', sub: 'key', aud: as.issuer });
  });

  verifies('A4', 'gets a new token once when the server refuses the old one', async () => {
    const { parts } = await testParts();
    const oauth = { grant: 'client_credentials', clientId: 'basic', clientSecret: 'machine-secret' };
    const credential = clientCredentials(credentialRequest(server.url, oauth), parts);
    await sendWith(credential, server.url);
    const refused = server.requests.at(-1)?.token;
    const before = as.tokenRequests.length;
    server.faults.refuses = (token) => token === refused;
    const statuses = await Promise.all([1, 2, 3].map(() => sendWith(credential, server.url)));
    delete server.faults.refuses;
    expect(statuses).not.toContain(401);
    expect(requestsSince(before)).toHaveLength(1);
  });

  verifies('A3', 'sends the secret to no other issuer than the first one', async () => {
    const other = await openAuthorizationServer();
    const moving = await openProtectedServer({ era: 'modern', authorizationServers: [as] });
    const { createServer } = await import('node:http');
    const document = JSON.stringify({ resource: moving.url, authorization_servers: [other.issuer] });
    const host = createServer((_, response) => response.setHeader('content-type', 'application/json').end(document));
    await new Promise<void>((listening) => host.listen(0, '127.0.0.1', listening));
    const { port } = host.address() as { port: number };
    try {
      const oauth = { grant: 'client_credentials', clientId: 'basic', clientSecret: 'machine-secret' };
      const { parts } = await testParts();
      const credential = clientCredentials(credentialRequest(moving.url, oauth), parts);
      expect(await sendWith(credential, moving.url)).not.toBe(401);
      moving.faults.refuses = () => true;
      moving.faults.challenge = `Bearer resource_metadata="http://127.0.0.1:${port}/prm"`;
      await expect(sendWith(credential, moving.url)).rejects.toMatchObject({
        ...{ code: 'AUTH_NEEDED', details: { issuer: other.issuer, previousIssuer: as.issuer } },
        fix: expect.stringContaining('oauth.issuer'),
      });
      expect(other.tokenRequests).toEqual([]);
    } finally {
      await Promise.all([moving.close(), other.close()]);
      host.close();
    }
  });

  verifies('A4', 'waits for the challenge of a server without metadata at its well-known addresses', async () => {
    const elsewhere = await openProtectedServer({ era: 'modern', authorizationServers: [as] });
    const document = JSON.stringify({ resource: elsewhere.url, authorization_servers: [as.issuer] });
    const { createServer } = await import('node:http');
    const host = createServer((_, response) => response.setHeader('content-type', 'application/json').end(document));
    await new Promise<void>((listening) => host.listen(0, '127.0.0.1', listening));
    const { port } = host.address() as { port: number };
    elsewhere.faults.metadataStatus = 404;
    elsewhere.faults.challenge = `Bearer resource_metadata="http://127.0.0.1:${port}/prm"`;
    try {
      const oauth = { grant: 'client_credentials', clientId: 'basic', clientSecret: 'machine-secret' };
      const credential = clientCredentials(credentialRequest(elsewhere.url, oauth), (await testParts()).parts);
      expect(await sendWith(credential, elsewhere.url)).not.toBe(401);
      expect(elsewhere.requests.map(({ token }) => token !== undefined)).toEqual([false, true]);
    } finally {
      await elsewhere.close();
      host.close();
    }
  });

  verifies('A4', 'reports a wrong secret with the code of the authorization server, and no secret', async () => {
    const oauth = { grant: 'client_credentials', clientId: 'basic', clientSecret: 'wrong-MARKER' };
    const credential = clientCredentials(credentialRequest(server.url, oauth), (await testParts()).parts);
    const failed = await sendWith(credential, server.url).catch((error) => error);
    expect(failed).toMatchObject({ code: 'AUTH_REFUSED', details: { oauthError: 'invalid_client', server: 'demo' } });
    expect(JSON.stringify([failed, failed.message, failed.fix, String(failed.cause)])).not.toContain('MARKER');
  });

  verifies('A4', 'rejects a client_credentials entry without a client that can prove itself', async () => {
    const { parts } = await testParts();
    const open = (oauth: object) => () => clientCredentials(credentialRequest(server.url, oauth), parts);
    expect(open({ clientSecret: 's' })).toThrow(/needs a client/);
    expect(open({ clientId: 'c' })).toThrow(/needs a client/);
  });

  const podOauth = { grant: 'jwt_bearer', clientId: 'pod', assertionFile };

  verifies('A4', 'exchanges the JWT of a file, which it reads for every token request', async () => {
    const { parts, time } = await testParts();
    const credential = jwtBearer(credentialRequest(server.url, podOauth), parts);
    const before = as.tokenRequests.length;
    const first = await assertion();
    writeFileSync(assertionFile, `${first}\n`);
    expect(await sendWith(credential, server.url)).not.toBe(401);
    const second = await assertion();
    writeFileSync(assertionFile, second);
    time.ahead += 2 * 3_600_000;
    expect(await sendWith(credential, server.url)).not.toBe(401);
    const sent = requestsSince(before).map(({ params }) => params);
    expect(sent.map(({ grant_type }) => grant_type)).toEqual([JWT_BEARER, JWT_BEARER]);
    expect(sent.map((params) => params.assertion)).toEqual([first, second]);
  });

  verifies('A4', 'sends a refused assertion once, and tries no other grant', async () => {
    const { parts } = await testParts();
    writeFileSync(assertionFile, await assertion());
    as.faults.tokenError = { error: 'invalid_grant' };
    const counted = as.counts.token;
    try {
      for (const _ of [1, 2, 3]) {
        const credential = jwtBearer(credentialRequest(server.url, podOauth), parts);
        const failed = await sendWith(credential, server.url).catch((error) => error);
        expect(failed).toMatchObject({ code: 'AUTH_REFUSED', details: { oauthError: 'invalid_grant' } });
      }
      expect(as.counts.token - counted).toBe(1);
    } finally {
      delete as.faults.tokenError;
    }
    writeFileSync(assertionFile, await assertion());
    expect(await sendWith(jwtBearer(credentialRequest(server.url, podOauth), parts), server.url)).not.toBe(401);
  });

  const BAD_FILES = [
    ['missing', () => rmSync(assertionFile, { force: true }), /cannot be read \(ENOENT\)/],
    ['empty', () => writeFileSync(assertionFile, '\n'), /is empty/],
    ['no JWT', () => writeFileSync(assertionFile, 'MARKER secret'), /does not contain a JWT/],
    ['too large', () => writeFileSync(assertionFile, 'a.b.'.padEnd(70_000, 'c')), /does not contain a JWT/],
  ] as const;
  for (const [defect, prepare, message] of BAD_FILES) {
    verifies('A4', `needs a sign-in, with the reason, if the assertion file is ${defect}`, async () => {
      prepare();
      const counted = as.counts.token;
      const credential = jwtBearer(credentialRequest(server.url, podOauth), (await testParts()).parts);
      const failed = await sendWith(credential, server.url).catch((error) => error);
      expect(failed).toMatchObject({ code: 'AUTH_NEEDED', message, delivered: 'no' });
      expect(failed.message).toContain('demo');
      expect(JSON.stringify([failed, failed.message])).not.toContain('MARKER');
      expect(as.counts.token).toBe(counted);
    });
  }

  verifies('A4', 'binds tokens to a DPoP key and sends a proof of its own with each request', async () => {
    const { parts, vault } = await testParts();
    const oauth = { grant: 'client_credentials', clientId: 'bound', clientSecret: 'machine-secret' };
    const credential = clientCredentials(credentialRequest(server.url, oauth), parts);
    const before = server.requests.length;
    server.faults.metadataFields = { dpop_bound_access_tokens_required: true };
    expect(await sendWith(credential, server.url)).not.toBe(401);
    delete server.faults.metadataFields;
    server.faults.dpopNonce = 'nonce-1';
    expect(await sendWith(credential, server.url)).not.toBe(401);
    delete server.faults.dpopNonce;
    const sent = server.requests.slice(before);
    expect(sent.map(({ headers }) => headers.authorization?.split(' ')[0])).toEqual(['DPoP', 'DPoP', 'DPoP']);
    expect(new Set(sent.map(({ headers }) => headers.dpop)).size).toBe(3);
    const stored = await vault.find(server.url, SHARED_PRINCIPAL);
    expect(stored).toMatchObject({ tokenType: 'DPoP', dpopKey: { kty: 'EC' } });
  });
});
