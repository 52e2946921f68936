import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import type { AuthFetch, AuthorizationServer, OAuthClient } from './auth-parts.ts';
import { registerClient, requestToken, revokeToken } from './oauth-protocol.ts';

const NOW = Date.parse('2026-11-17T08:00:00Z');
const AS: AuthorizationServer = {
  issuer: 'https://as.example',
  metadata: {
    issuer: 'https://as.example',
    token_endpoint: 'https://as.example/token',
    registration_endpoint: 'https://as.example/register',
    revocation_endpoint: 'https://as.example/revoke',
  },
  written: 'https://mcp.example/mcp',
  document: { url: 'https://as.example/.well-known/oauth-authorization-server', kind: 'public' },
};
const CLIENT: OAuthClient = {
  ...{ kind: 'configured', clientId: 'my-client.id', clientSecret: 'a secret:+', authMethod: 'client_secret_basic' },
};
const TOKENS = { access_token: 'token', token_type: 'Bearer' };

type Answer = readonly [status: number, body: Json, headers?: Record<string, string>];
type Sent = Parameters<AuthFetch>[1] & { readonly url: string };

/** An authorization server that gives one answer. */
function answering(...[status, body, headers = {}]: Answer) {
  const sent: Sent[] = [];
  const fetch: AuthFetch = async (url, options) => {
    sent.push({ ...options, url });
    return { status, headers, body: Buffer.from(JSON.stringify(body)), url, kind: 'public' };
  };
  return { parts: { fetch, clock: () => NOW }, sent };
}

const tokenWith = (answer: Answer, parameters: Record<string, string> = { grant_type: 'client_credentials' }) => {
  const { parts, sent } = answering(...answer);
  return { sent, response: requestToken(parts, { server: 'demo', as: AS, client: CLIENT, parameters }) };
};

describe('token requests', () => {
  verifies('A4', 'sends a client secret by Basic without escaping dots and dashes', async () => {
    const { sent, response } = tokenWith([200, TOKENS]);
    await response;
    const [, encoded = ''] = sent[0]?.headers?.authorization?.split(' ') ?? [];
    expect(Buffer.from(encoded, 'base64').toString()).toBe('my-client.id:a+secret%3A%2B');
    expect(sent[0]).toMatchObject({ method: 'POST', source: { written: AS.written, document: AS.document } });
    expect(Object.fromEntries(new URLSearchParams(sent[0]?.body))).toEqual({ grant_type: 'client_credentials' });
  });

  verifies('A3', 'keeps the OAuth code of a 401 with a challenge, and of a 200 with an error', async () => {
    const challenge = { 'www-authenticate': 'Basic realm="as"' };
    const refused = tokenWith([401, { error: 'invalid_client' }, challenge]).response;
    await expect(refused).rejects.toMatchObject({ code: 'AUTH_REFUSED', details: { oauthError: 'invalid_client' } });
    const hidden = tokenWith([200, { error: 'invalid_grant' }]).response;
    await expect(hidden).rejects.toMatchObject({ code: 'AUTH_REFUSED', details: { oauthError: 'invalid_grant' } });
  });

  verifies('A3', 'tells a failing authorization server from a refusal', async () => {
    for (const status of [429, 500, 503]) {
      await expect(tokenWith([status, { error: 'invalid_grant' }]).response).rejects.toMatchObject({
        code: 'UPSTREAM_UNREACHABLE',
        message: expect.stringContaining('https://as.example/token'),
      });
    }
  });

  verifies('A5', 'accepts the token type N_A for a token exchange only', async () => {
    const issued = 'urn:ietf:params:oauth:token-type:id-jag';
    const answer: Answer = [200, { ...TOKENS, token_type: 'N_A', issued_token_type: issued, expires_in: 60 }];
    const exchange = tokenWith(answer, { grant_type: 'exchange', requested_token_type: issued });
    expect(await exchange.response).toEqual({
      ...{ accessToken: 'token', tokenType: 'N_A', issuedTokenType: issued, expiresAt: NOW + 60_000 },
    });
    await expect(tokenWith(answer).response).rejects.toMatchObject({ code: 'AUTH_REFUSED' });
  });

  it('ignores an ID token that was not requested', async () => {
    const { response } = tokenWith([200, { ...TOKENS, id_token: 'not.a.jwt', scope: 'read  write' }]);
    expect(await response).toEqual({ accessToken: 'token', tokenType: 'Bearer', scopes: ['read', 'write'] });
  });

  it('shows neither tokens nor values that it sent in an error', async () => {
    const parameters = { grant_type: 'refresh_token', refresh_token: 'marker-1' };
    const body: JsonObject = { error: 'invalid_grant', error_description: 'marker-1 and a secret:+ are wrong' };
    const refused = await tokenWith([400, body], parameters).response.catch((error) => error);
    expect(refused.message).toContain('… and … are wrong');
    const invalid = await tokenWith([200, { access_token: 'marker-2' }], parameters).response.catch((error) => error);
    expect(JSON.stringify([invalid, invalid.message, String(invalid.cause)])).not.toContain('marker');
  });
});

describe('registration and revocation', () => {
  it('accepts a registration with status 200 and a secret without an expiry', async () => {
    const { parts, sent } = answering(200, { client_id: 'new', client_secret: 's' });
    const metadata = { redirect_uris: ['http://127.0.0.1:1/callback'] };
    expect(await registerClient(parts, { server: 'demo', as: AS, metadata })).toMatchObject({ client_id: 'new' });
    expect(JSON.parse(sent[0]?.body ?? '')).toEqual(metadata);
  });

  it('reports a refused revocation without the token', async () => {
    const { parts } = answering(400, { error: 'unsupported_token_type', error_description: 'marker' });
    const request = { server: 'demo', as: AS, client: CLIENT, token: 'marker', hint: 'access_token' };
    const failure = await revokeToken(parts, request).catch((error) => error);
    expect(failure).toMatchObject({ code: 'AUTH_REFUSED', details: { oauthError: 'unsupported_token_type' } });
    expect(failure.message).not.toContain('marker');
  });
});
