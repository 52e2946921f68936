import { describe, expect } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { failureOf, openSignInBench, PRINCIPAL, type SignInBench } from './fixtures.ts';

const SHARED = { credentials: 'shared' as const };

describe('hostile metadata', () => {
  type Change = (bench: SignInBench) => void;
  const OF_AUTHORIZATION_SERVER: readonly (readonly [string, Change, RegExp])[] = [
    ['is 2 MB long', ({ as }) => Object.assign(as.faults, { metadata: 'huge' }), /more than 1048576 bytes/],
    ['is nested 1,000 deep', ({ as }) => Object.assign(as.faults, { metadata: 'deep' }), /nested deeper/],
    ['is not JSON', ({ as }) => Object.assign(as.faults, { metadata: 'not-json' }), /cannot be used/],
    [
      'redirects to a private address',
      ({ as }) => Object.assign(as.faults, { metadataRedirect: 'https://10.0.0.1/metadata' }),
      /private network/,
    ],
    [
      'names an http endpoint',
      ({ as }) => Object.assign(as.faults, { metadataFields: { token_endpoint: 'http://as.example/token' } }),
      /token_endpoint that is not https/,
    ],
    [
      'names an endpoint that is no web address',
      ({ as }) => Object.assign(as.faults, { metadataFields: { authorization_endpoint: 'javascript:alert(1)' } }),
      /authorization_endpoint that is not https/,
    ],
    [
      'names another issuer',
      ({ as }) => Object.assign(as.faults, { metadataFields: { issuer: 'https://evil.example' } }),
      /metadata of https:\/\/evil\.example, not of/,
    ],
    [
      'names an issuer that differs by a slash',
      ({ as }) => Object.assign(as.faults, { metadataFields: { issuer: `${as.issuer}/` } }),
      /not of http/,
    ],
    [
      'does not promise S256',
      ({ as }) => Object.assign(as.faults, { metadataFields: { code_challenge_methods_supported: ['plain'] } }),
      /PKCE with S256/,
    ],
    [
      'does not mention PKCE',
      ({ as }) => Object.assign(as.faults, { metadataFields: { code_challenge_methods_supported: null } }),
      /PKCE with S256/,
    ],
  ];
  const OF_RESOURCE: typeof OF_AUTHORIZATION_SERVER = [
    [
      'is about a foreign resource',
      (b) => Object.assign(b.protectedServer.faults, { metadataFields: { resource: 'https://evil.example/mcp' } }),
      /does not cover/,
    ],
    [
      'is about another path of the server',
      (b) => Object.assign(b.protectedServer.faults, { metadataFields: { resource: `${b.protectedServer.url}-two` } }),
      /does not cover/,
    ],
    ['is not JSON', (b) => Object.assign(b.protectedServer.faults, { metadataText: '<html>' }), /cannot be used/],
    [
      'redirects to a private address',
      (b) => Object.assign(b.protectedServer.faults, { metadataRedirect: 'https://192.168.0.1/' }),
      /private network/,
    ],
    [
      'names no authorization server',
      (b) => Object.assign(b.protectedServer.faults, { metadataFields: { authorization_servers: [] } }),
      /names no authorization server/,
    ],
    [
      'names an authorization server that is no URL',
      (b) => Object.assign(b.protectedServer.faults, { metadataFields: { authorization_servers: ['\u001b[2Jevil'] } }),
      /\\u\{001b\}\[2Jevil is not a URL/,
    ],
    ['is refused with 403', (b) => Object.assign(b.protectedServer.faults, { metadataStatus: 403 }), /status 403/],
  ];

  for (const [whose, rows] of [
    ['of the authorization server', OF_AUTHORIZATION_SERVER],
    ['of the resource', OF_RESOURCE],
  ] as const) {
    for (const [defect, change, message] of rows) {
      verifies('A2', `begins no sign-in if the metadata ${whose} ${defect}`, async () => {
        const bench = await openSignInBench();
        change(bench);
        const failure = await failureOf(bench.begin());
        expect(failure).toMatchObject({ code: 'AUTH_REFUSED', message: expect.stringMatching(message) });
        expect(failure.message).toContain('"demo"');
        expect(failure.details).toMatchObject({ server: 'demo', url: expect.any(String) });
        expect(bench.as.counts).toMatchObject({ authorize: 0, registration: 0, token: 0 });
        expect(await bench.store.signIns.pending(bench.target.serverUrl, PRINCIPAL)).toEqual([]);
      });
    }
  }

  verifies('A2', 'begins no sign-in if authServerMetadataUrl is http', async () => {
    const bench = await openSignInBench();
    const oauth = { ...SHARED, authServerMetadataUrl: 'http://as.example/metadata' };
    const failure = await failureOf(bench.begin({ target: { ...bench.target, oauth } }));
    expect(failure).toMatchObject({ code: 'AUTH_REFUSED', message: expect.stringContaining('is not https') });
  });

  verifies('A2', 'ends the sign-in if the metadata fails otherwise than with 404', async () => {
    const bench = await openSignInBench();
    bench.protectedServer.faults.metadataStatus = 500;
    expect(await failureOf(bench.begin())).toMatchObject({ code: 'UPSTREAM_UNREACHABLE' });
    delete bench.protectedServer.faults.metadataStatus;
    bench.as.faults.down = true;
    const failure = await failureOf(bench.begin());
    expect(failure).toMatchObject({ code: 'UPSTREAM_UNREACHABLE', message: expect.stringContaining(bench.as.issuer) });
    expect(bench.as.counts.authorize).toBe(0);
  });

  verifies('A2', 'accepts only the issuer that the configuration names', async () => {
    const bench = await openSignInBench();
    const oauth = { ...SHARED, issuer: 'https://as.example' };
    const failure = await failureOf(bench.begin({ target: { ...bench.target, oauth } }));
    expect(failure.code).toBe('AUTH_REFUSED');
    expect(failure.message).toContain(bench.as.issuer);
    expect(failure.message).toContain('https://as.example');
  });
});

verifies('A3', 'sends a configured client to no other issuer than that of the stored tokens', async () => {
  const bench = await openSignInBench();
  const { serverUrl } = bench.target;
  const tokens = { accessToken: 'a', tokenType: 'Bearer', receivedAt: 1, scopes: [], clientId: 'own' } as const;
  const first = { issuer: 'https://first.example', resource: serverUrl, principal: PRINCIPAL, serverUrl, ...tokens };
  expect(await bench.store.vault.put(first, 1)).toBe(true);
  const oauth = { credentials: 'shared', clientId: 'own', clientSecret: 'own-secret' } as const;
  const failure = await failureOf(bench.begin({ target: { ...bench.target, oauth } }));
  expect(failure).toMatchObject({ code: 'AUTH_REFUSED', fix: expect.stringContaining('oauth.issuer') });
  expect(failure.message).toContain(bench.as.issuer);
  expect(failure.message).toContain('https://first.example');
  const named = { ...oauth, issuer: bench.as.issuer };
  expect(await bench.begin({ target: { ...bench.target, oauth: named } })).toMatchObject({ issuer: bench.as.issuer });
});
