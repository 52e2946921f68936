import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { beginSignIn, cancelSignIn } from './begin-sign-in.ts';
import { listenerFrom, openSignInBench, PRINCIPAL } from './fixtures.ts';
import { forgetSignIn } from './forget-sign-in.ts';

const SHARED = { credentials: 'shared' as const };

describe('signing in', () => {
  verifies('A2', 'signs in with a registered client, PKCE, state and resource, and stores the tokens', async () => {
    const { as, protectedServer, store, target, begin, visit, finish } = await openSignInBench();
    const begun = await begin();
    expect(begun).toMatchObject({
      server: 'demo',
      issuer: as.issuer,
      earlier: 0,
      scopes: ['mcp:read', 'offline_access'],
    });
    expect(Buffer.from(begun.state, 'base64url')).toHaveLength(32);
    const signedIn = await finish(await visit(begun));
    expect(signedIn).toMatchObject({ server: 'demo', state: 'signed-in', issuer: as.issuer, isRenewable: true });

    const grant = await store.vault.find(target.serverUrl, PRINCIPAL);
    expect(grant).toMatchObject({ issuer: as.issuer, resource: protectedServer.resource, tokenType: 'Bearer' });
    expect(await as.introspect(grant?.accessToken ?? '')).toMatchObject({ aud: protectedServer.url });

    const [authorize] = as.authorizeRequests;
    const [exchange] = as.tokenRequests;
    expect(authorize?.get('resource')).toBe(protectedServer.resource);
    expect(exchange?.params.resource).toBe(protectedServer.resource);
    expect(authorize?.get('code_challenge_method')).toBe('S256');
    const verifier = exchange?.params.code_verifier ?? '';
    expect(authorize?.get('code_challenge')).toBe(createHash('sha256').update(verifier).digest('base64url'));
    expect(authorize?.get('scope')).toBe('mcp:read offline_access');
  });

  verifies('A2', 'accepts the whole redirect or only its query', async () => {
    const { as, begin, visit, finish } = await openSignInBench();
    const whole = await visit(await begin());
    await expect(finish(whole)).resolves.toMatchObject({ state: 'signed-in' });
    const withMark = new URL(await visit(await begin())).search;
    await expect(finish(`  ${withMark}\n`)).resolves.toMatchObject({ state: 'signed-in' });
    const withoutMark = new URL(await visit(await begin())).search.slice(1);
    await expect(finish(withoutMark)).resolves.toMatchObject({ state: 'signed-in' });
    expect(as.counts.token).toBe(3);
  });

  verifies('A2', 'gives each sign-in a state and a verifier of its own, and reports the earlier ones', async () => {
    const { as, begin, visit, finish } = await openSignInBench();
    const first = await begin();
    const second = await begin();
    expect(second.state).not.toBe(first.state);
    expect([first.earlier, second.earlier]).toEqual([0, 1]);
    await finish(await visit(second));
    await finish(await visit(first));
    const verifiers = as.tokenRequests.map(({ params }) => params.code_verifier);
    expect(new Set(verifiers).size).toBe(2);
  });

  it('ends the remembered refusal of the server', async () => {
    const { store, target, parts, begin, visit, finish } = await openSignInBench();
    const at = parts.clock();
    const refusal = { serverUrl: target.serverUrl, principal: PRINCIPAL, at, until: at + 900_000, scopes: [] };
    await store.signIns.refuse({ ...refusal, reason: 'refused' });
    await finish(await visit(await begin()));
    expect(await store.signIns.refusal(target.serverUrl, PRINCIPAL)).toBeUndefined();
  });
});

describe('scopes', () => {
  const challenge = { scheme: 'bearer', params: { scope: 'mcp:read' } };

  verifies('A2', 'requests the scopes of the configuration, else of the challenge, else of the metadata', async () => {
    const { protectedServer, target, begin } = await openSignInBench();
    protectedServer.faults.metadataFields = { scopes_supported: ['mcp:read', 'mcp:write'] };
    const configured = { ...target, oauth: { ...SHARED, scopes: ['mcp:admin'] } };
    expect((await begin({ challenge, target: configured })).scopes).toEqual(['mcp:admin']);
    expect((await begin({ challenge: { scheme: 'bearer', params: { scope: 'mcp:admin' } } })).scopes).toEqual([
      'mcp:admin',
      'offline_access',
    ]);
    const { scopes, url } = await begin();
    expect(scopes).toEqual(['mcp:read', 'mcp:write', 'offline_access']);
    expect(new URL(url).searchParams.get('prompt')).toBe('consent');
    protectedServer.faults.metadataFields = { scopes_supported: null };
    expect(new URL((await begin()).url).searchParams.has('scope')).toBe(false);
  });

  it('does not request offline_access if the authorization server does not list it', async () => {
    const { as, begin } = await openSignInBench();
    as.faults.metadataFields = { scopes_supported: ['openid'] };
    expect((await begin({ challenge })).scopes).toEqual(['mcp:read']);
  });

  verifies('A3', 'adds the scopes of a step-up to those of the configuration', async () => {
    const { store, target, parts, begin } = await openSignInBench();
    const at = parts.clock();
    await store.signIns.refuse({
      ...{ serverUrl: target.serverUrl, principal: PRINCIPAL, at, until: at + 900_000, reason: 'more scopes' },
      ...{ scopes: ['mcp:read', 'mcp:write'], isStepUp: true },
    });
    const configured = { ...target, oauth: { ...SHARED, scopes: ['mcp:read'] } };
    expect((await begin({ target: configured })).scopes).toEqual(['mcp:read', 'mcp:write']);
  });
});

describe('the client of a sign-in', () => {
  verifies('A2', 'registers a native client that may refresh, and uses it again with its port', async () => {
    const { as, store, begin, visit, finish } = await openSignInBench();
    const begun = await begin();
    const [registration] = await store.clients.find(as.issuer);
    expect(registration).toMatchObject({
      redirectUri: begun.redirectUri,
      metadata: { application_type: 'native', grant_types: ['authorization_code', 'refresh_token'] },
    });
    await finish(await visit(begun));
    const again = await begin({ redirect: listenerFrom(50_001) });
    expect(again.redirectUri).toBe(begun.redirectUri);
    expect(as.counts.registration).toBe(1);
  });

  verifies('A3', 'requests further scopes besides those of the metadata and of the stored tokens', async () => {
    const { begin, visit, finish, store, target } = await openSignInBench();
    await finish(await visit(await begin()));
    const grant = await store.vault.find(target.serverUrl, target.principal);
    if (grant) await store.vault.put({ ...grant, scopes: ['mcp:read', 'mcp:list'] }, Number.MAX_SAFE_INTEGER);
    const { scopes, url } = await begin({ moreScopes: ['mcp:write', 'mcp:read'] });
    expect(scopes.filter((scope) => scope.startsWith('mcp:'))).toEqual(['mcp:read', 'mcp:list', 'mcp:write']);
    expect(new URL(url).searchParams.get('scope')).toBe(scopes.join(' '));
  });

  verifies('A2', 'registers anew if the port of the registration is taken, and keeps the old one', async () => {
    const { as, store, begin, visit, finish } = await openSignInBench();
    await finish(await visit(await begin({ redirect: listenerFrom(40_001) })));
    const again = await begin({ redirect: listenerFrom(40_002, [40_001]) });
    expect(again.redirectUri).toBe('http://127.0.0.1:40002/callback');
    expect(await store.clients.find(as.issuer)).toHaveLength(2);
  });

  verifies('A2', 'registers anew if the last sign-in with the registration got no callback', async () => {
    const { as, parts, target, begin, visit, finish } = await openSignInBench();
    await finish(await visit(await begin()));
    const inProgress = await begin();
    expect(as.counts.registration).toBe(1);
    await finish(await visit(await begin()));
    expect(as.counts.registration).toBe(2);
    await cancelSignIn(parts, target, inProgress.state);
    const cancelled = await begin();
    expect(as.counts.registration).toBe(2);
    await cancelSignIn(parts, target, cancelled.state);
    await begin();
    expect(as.counts.registration).toBe(3);
  });

  it('registers anew ten minutes after a sign-in of another caller that got no callback', async () => {
    const { as, target, begin, advance } = await openSignInBench();
    const redirect = 'http://127.0.0.1:4000/oauth/callback';
    const of = (principal: string) => ({ redirect, target: { ...target, principal } });
    await begin(of('ada'));
    await begin(of('bob'));
    expect(as.counts.registration).toBe(1);
    advance(10 * 60_000 + 1);
    await begin(of('eve'));
    expect(as.counts.registration).toBe(2);
  });

  verifies('A2', 'uses a configured client with its secret, at localhost and its port', async () => {
    const secret = 's-e_c.r e+t';
    const client = {
      ...{ client_id: 'my-client', client_secret: secret, redirect_uris: ['http://localhost:8123/callback'] },
      ...{ token_endpoint_auth_method: 'client_secret_basic', application_type: 'native' },
    };
    const { as, target, begin, visit, finish } = await openSignInBench({ clients: [client] });
    const oauth = { ...SHARED, clientId: 'my-client', clientSecret: secret, callbackPort: 8123 };
    const configured = { ...target, oauth };
    const begun = await begin({ target: configured });
    expect(begun.redirectUri).toBe('http://localhost:8123/callback');
    await finish(await visit(begun), { target: configured });
    expect(as.tokenRequests[0]?.headers.authorization).toMatch(/^Basic /);
    expect(as.counts.registration).toBe(0);
    const taken = begin({ target: configured, redirect: listenerFrom(1, [8123]) });
    await expect(taken).rejects.toMatchObject({ code: 'AUTH_REFUSED', message: expect.stringContaining('8123') });
  });

  verifies('A2', 'uses a metadata document instead of a registration where that is supported', async () => {
    const { as, target, parts, begin } = await openSignInBench();
    as.faults.metadataFields = { client_id_metadata_document_supported: true };
    const clientMetadataUrl = 'https://client.example/heddle.json';
    const documented = { ...target, oauth: { ...SHARED, clientMetadataUrl } };
    const clientIdOf = (url: string) => new URL(url).searchParams.get('client_id');
    expect(clientIdOf((await begin({ target: documented })).url)).toBe(clientMetadataUrl);
    const ofGateway = { ...parts, publicUrl: () => 'https://gateway.example/' };
    const begun = await beginSignIn(ofGateway, { target, redirect: 'https://gateway.example/oauth/callback' });
    expect(clientIdOf(begun.url)).toBe('https://gateway.example/oauth/client.json');
    expect(as.counts.registration).toBe(0);
    as.faults.metadataFields = {};
    await begin({ target: documented });
    expect(as.counts.registration).toBe(1);
  });
});

describe('DPoP', () => {
  const challenge = { scheme: 'dpop', params: {} };

  verifies(
    'A3',
    'binds the tokens to a key if the challenge names DPoP, with a nonce where one is required',
    async () => {
      const { as, store, target, begin, visit, finish } = await openSignInBench({ requiresDpopNonce: true });
      await finish(await visit(await begin({ challenge })));
      const grant = await store.vault.find(target.serverUrl, PRINCIPAL);
      expect(grant).toMatchObject({ tokenType: 'DPoP', dpopKey: { kty: 'EC', d: expect.any(String) } });
      expect(as.counts.token).toBe(2);
      const proofs = as.tokenRequests.map(({ headers }) => headers.dpop);
      expect(proofs[0]).not.toBe(proofs[1]);
    },
  );

  it('remembers the scheme of the challenge for a later login', async () => {
    const { store, target, parts, begin, visit, finish } = await openSignInBench();
    const at = parts.clock();
    await store.signIns.refuse({
      ...{ serverUrl: target.serverUrl, principal: PRINCIPAL, at, until: at + 900_000, reason: 'r' },
      ...{ scopes: ['mcp:read'], isDpop: true },
    });
    await finish(await visit(await begin()));
    expect(await store.vault.find(target.serverUrl, PRINCIPAL)).toMatchObject({ tokenType: 'DPoP' });
  });
});

describe('signing out', () => {
  verifies('A2', 'revokes both tokens and removes them', async () => {
    const { as, store, parts, target, begin, visit, finish } = await openSignInBench();
    await finish(await visit(await begin()));
    const grant = await store.vault.find(target.serverUrl, PRINCIPAL);
    expect(await forgetSignIn(parts, { target })).toEqual({ server: 'demo', removed: true, revoked: true });
    expect(as.counts.revocation).toBe(2);
    expect(await as.introspect(grant?.accessToken ?? '')).toBeUndefined();
    expect(await store.vault.find(target.serverUrl, PRINCIPAL)).toBeUndefined();
    expect(await forgetSignIn(parts, { target })).toEqual({ server: 'demo', removed: false, revoked: false });
  });

  it('removes the tokens even if the authorization server fails to revoke them', async () => {
    const { as, parts, target, begin, visit, finish } = await openSignInBench();
    await finish(await visit(await begin()));
    as.faults.revocation = 'broken';
    expect(await forgetSignIn(parts, { target })).toMatchObject({ removed: true, revoked: 'failed' });
    delete as.faults.revocation;
    await finish(await visit(await begin()));
    as.faults.metadataFields = { revocation_endpoint: null };
    expect(await forgetSignIn(parts, { target })).toMatchObject({ removed: true, revoked: false });
  });
});
