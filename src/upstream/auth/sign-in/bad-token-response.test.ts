import { describe, expect, it } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { listen } from '../../../../test/servers/http-servers.ts';
import { failureOf, openSignInBench, storedGrant } from './fixtures.ts';

describe('hostile token responses', () => {
  const RESPONSES: readonly (readonly [string, Record<string, string | number | null>, RegExp])[] = [
    ['has no token_type', { token_type: null }, /token_type/],
    ['has a token_type that was not requested', { token_type: 'mac' }, /token_type/],
    ['expires in -1 s', { expires_in: -1 }, /expires_in/],
    [
      'has status 200 and an error',
      { error: 'invalid_grant', error_description: 'no' },
      /refuses with invalid_grant: no/,
    ],
    ['has no access token', { access_token: null }, /access_token/],
    ['has a line break in its token', { access_token: 'a\r\nx-evil: 1' }, /invalid characters/],
  ];
  for (const [defect, tokenFields, message] of RESPONSES) {
    verifies('A2', `leaves the vault unchanged if the token response ${defect}`, async () => {
      const bench = await openSignInBench();
      await bench.finish(await bench.visit(await bench.begin()));
      const stored = await storedGrant(bench);
      bench.as.faults.tokenFields = tokenFields;
      const failure = await failureOf(bench.finish(await bench.visit(await bench.begin())));
      expect(failure).toMatchObject({ code: 'AUTH_REFUSED', message: expect.stringMatching(message) });
      expect(failure.message).toContain(`${bench.as.issuer}/token`);
      expect(await storedGrant(bench)).toEqual(stored);
    });
  }

  verifies('A2', 'caps an expires_in of 10^12 s at a year', async () => {
    const bench = await openSignInBench();
    bench.as.faults.tokenFields = { expires_in: 1e12 };
    const { expiresAt } = await bench.finish(await bench.visit(await bench.begin()));
    expect(expiresAt).toBe(bench.parts.clock() + 365 * 86_400_000);
  });

  it('hides the code and the verifier that a token endpoint repeats', async () => {
    const bench = await openSignInBench();
    const redirect = await bench.visit(await bench.begin());
    const code = new URL(redirect).searchParams.get('code') ?? '';
    bench.as.faults.tokenError = { error: 'invalid_grant', error_description: `bad code ${code}` };
    const failure = await failureOf(bench.finish(redirect));
    expect(failure.message).toContain('refuses with invalid_grant: bad code …');
  });
});

describe('a failing token endpoint', () => {
  for (const fault of ['silent', 'dripping'] as const) {
    verifies('A2', `reports UPSTREAM_TIMEOUT if the token endpoint is ${fault}`, async () => {
      const bench = await openSignInBench();
      const redirect = await bench.visit(await bench.begin());
      Object.assign(bench.as.faults, { token: fault });
      bench.timeoutMs = 20;
      const failure = await failureOf(bench.finish(redirect));
      expect(failure).toMatchObject({ code: 'UPSTREAM_TIMEOUT', message: expect.stringContaining('/token') });
      expect(await storedGrant(bench)).toBeUndefined();
    });
  }

  verifies('A2', 'succeeds at the next attempt after a 500', async () => {
    const bench = await openSignInBench();
    bench.as.faults.tokenStatuses = [500];
    const failure = await failureOf(bench.finish(await bench.visit(await bench.begin())));
    expect(failure).toMatchObject({ code: 'UPSTREAM_UNREACHABLE', message: expect.stringContaining('status 500') });
    await expect(bench.finish(await bench.visit(await bench.begin()))).resolves.toMatchObject({ state: 'signed-in' });
  });

  verifies('A2', 'names the registration endpoint that refuses', async () => {
    const bench = await openSignInBench();
    bench.as.faults.registration = 'refused';
    const failure = await failureOf(bench.begin());
    expect(failure).toMatchObject({ code: 'AUTH_REFUSED', details: { oauthError: 'access_denied' } });
    expect(failure.message).toContain(`${bench.as.issuer}/reg refuses with access_denied: Registration is closed.`);
  });

  it('sends no credentials to the address of a redirect', async () => {
    const bench = await openSignInBench();
    const elsewhere = await listen((_request, response) => response.end('{}'));
    const requests: string[] = [];
    const redirecting = await listen((request, response) => {
      requests.push(String(request.method));
      response.writeHead(307, { location: elsewhere.url }).end();
    });
    bench.as.faults.metadataFields = { token_endpoint: redirecting.url };
    const failure = await failureOf(bench.finish(await bench.visit(await bench.begin())));
    expect(failure).toMatchObject({ code: 'AUTH_REFUSED', message: expect.stringContaining('status 307') });
    expect(requests).toEqual(['POST']);
    await Promise.all([elsewhere.close(), redirecting.close()]);
  });
});
