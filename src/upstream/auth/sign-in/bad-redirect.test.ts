import { describe, expect } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import type { HeddleError } from '../../../core/errors.ts';
import { cancelSignIn } from './begin-sign-in.ts';
import { failureOf, openSignInBench, type SignInBench, storedGrant } from './fixtures.ts';

describe('hostile redirects', () => {
  /** Begins, visits, changes the query of the redirect and finishes. */
  async function finishWith(bench: SignInBench, change: (query: URLSearchParams) => void): Promise<HeddleError> {
    const query = new URL(await bench.visit(await bench.begin())).searchParams;
    change(query);
    const failure = await failureOf(bench.finish(query.toString()));
    expect(failure.code).toBe('AUTH_REFUSED');
    expect(bench.as.counts.token).toBe(0);
    expect(await storedGrant(bench)).toBeUndefined();
    return failure;
  }

  const CHANGES: readonly (readonly [string, (query: URLSearchParams, bench: SignInBench) => void])[] = [
    ['state is wrong', (query) => query.set('state', 'x'.repeat(43))],
    ['state is missing', (query) => query.delete('state')],
    ['state is repeated', (query) => query.append('state', 'other')],
    ['iss is missing although it was promised', (query) => query.delete('iss')],
    ['iss is foreign', (query) => query.set('iss', 'https://evil.example')],
    ['iss is normalised', (query, { as }) => query.set('iss', `${as.issuer}/`)],
    ['iss is repeated', (query, { as }) => query.append('iss', as.issuer)],
    ['code is missing', (query) => query.delete('code')],
    ['code is repeated', (query) => query.append('code', 'other')],
  ];
  for (const [defect, change] of CHANGES) {
    verifies('A2', `rejects a redirect whose ${defect}, and requests no token`, async () => {
      const bench = await openSignInBench();
      await finishWith(bench, (query) => change(query, bench));
    });
  }

  verifies('A2', 'rejects a foreign iss also if none was promised', async () => {
    const bench = await openSignInBench();
    bench.as.faults.metadataFields = { authorization_response_iss_parameter_supported: null };
    await finishWith(bench, (query) => query.set('iss', 'https://evil.example'));
  });

  verifies('A2', 'accepts a redirect once, and not after ten minutes', async () => {
    const bench = await openSignInBench();
    const late = await bench.visit(await bench.begin());
    bench.advance(10 * 60_000);
    expect(await failureOf(bench.finish(late))).toMatchObject({ code: 'AUTH_REFUSED' });
    expect(bench.as.counts.token).toBe(0);
    const redirect = await bench.visit(await bench.begin());
    await bench.finish(redirect);
    const stored = await storedGrant(bench);
    expect(await failureOf(bench.finish(redirect))).toMatchObject({ code: 'AUTH_REFUSED' });
    expect(bench.as.counts.token).toBe(1);
    expect(await storedGrant(bench)).toEqual(stored);
  });

  verifies('A2', 'rejects a redirect pasted from another login, and does not use it up', async () => {
    const bench = await openSignInBench();
    const [first, second] = [await bench.begin(), await bench.begin()];
    const pasted = await bench.visit(first);
    const failure = await failureOf(bench.finish(pasted, { state: second.state }));
    expect(failure).toMatchObject({ code: 'AUTH_REFUSED', message: expect.stringContaining('another sign-in') });
    await expect(bench.finish(pasted, { state: first.state })).resolves.toMatchObject({ state: 'signed-in' });
  });

  verifies('A2', 'stores no tokens for a replayed code', async () => {
    const bench = await openSignInBench();
    const code = new URL(await bench.visit(await bench.begin())).searchParams.get('code') ?? '';
    const query = new URL(await bench.visit(await bench.begin())).searchParams;
    query.set('code', code);
    const failure = await failureOf(bench.finish(query.toString()));
    expect(failure).toMatchObject({ code: 'AUTH_REFUSED', details: { oauthError: 'invalid_grant' } });
    expect(failure.message).not.toContain(code);
    expect(await storedGrant(bench)).toBeUndefined();
  });

  verifies('A6', 'rejects the redirect of another caller, shows nothing of it and does not use it up', async () => {
    const bench = await openSignInBench();
    const begun = await bench.begin();
    const bob = { ...bench.target, principal: 'bob' };
    const redirect = `${begun.redirectUri}?state=${begun.state}&error=access_denied&error_description=marker`;
    const failure = await failureOf(bench.finish(redirect, { target: bob }));
    expect(failure).toMatchObject({
      code: 'AUTH_REFUSED',
      message: expect.stringContaining('another server or caller'),
    });
    expect(failure.message).not.toContain('marker');
    await cancelSignIn(bench.parts, bob, begun.state);
    await expect(bench.finish(await bench.visit(begun))).resolves.toMatchObject({ state: 'signed-in' });
  });

  const DESCRIPTION = '\u001b[31m<script>alert(1)</script>\nlogin: \u202e';

  verifies('A2', 'shows an error_description escaped, with its code', async () => {
    const bench = await openSignInBench();
    const failure = await finishWith(bench, (query) => {
      query.delete('code');
      query.set('error', 'access_denied');
      query.set('error_description', DESCRIPTION);
    });
    expect(failure.details).toMatchObject({ oauthError: 'access_denied' });
    expect(failure.message).toContain('\\u{001b}[31m<script>alert(1)</script>\\nlogin: \\u{202e}');
  });

  verifies('A2', 'hides an error and its description if iss is wrong', async () => {
    const bench = await openSignInBench();
    const failure = await finishWith(bench, (query) => {
      query.delete('code');
      query.set('iss', 'https://evil.example');
      query.set('error', 'call_this_number');
      query.set('error_description', DESCRIPTION);
    });
    expect(JSON.stringify([failure.message, failure.details, failure.fix])).not.toMatch(/call_this|alert/);
  });
});
