import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Grant } from '../../store/token-vault.ts';
import type { Refusal } from './credential.ts';
import { oauthCredential } from './oauth-credential.ts';

const URL_ = 'https://mcp.example/mcp';
const grantWith = (accessToken: string, scopes: readonly string[]): Grant => ({
  ...{ issuer: 'https://as.example', resource: URL_, principal: 'shared', serverUrl: URL_, tokenType: 'Bearer' },
  ...{ accessToken, scopes, receivedAt: 0, clientId: 'c' },
});

const refusalOf = (sent: Grant, isRetry = false): Refusal => ({
  status: 403,
  challenges: [{ scheme: 'bearer', params: { error: 'insufficient_scope', scope: 'write' } }],
  ...{ headers: {}, sent: { authorization: `Bearer ${sent.accessToken}` }, url: new URL(URL_), isRetry },
});

function setup(used: Grant, stored: Grant) {
  let known = used;
  const source = {
    current: () => known,
    fresh: () => known,
    async reread() {
      known = stored;
      return known;
    },
    renewAfter: async () => undefined,
  };
  const dpopSigner = () => expect.fail('no DPoP token');
  return oauthCredential({ server: 'demo', serverUrl: URL_, source, dpopSigner });
}

verifies(
  'A3',
  'uses tokens with more scopes that a sign-in has stored meanwhile, instead of another sign-in',
  async () => {
    const [before, after] = [grantWith('a1', ['read']), grantWith('a2', ['read', 'write'])];
    const { signal } = new AbortController();
    const credential = setup(before, after);
    expect(await credential.onRefused(refusalOf(before), signal)).toBe(true);
    expect(credential.headersFor({ method: 'POST', url: new URL(URL_) })).toEqual({ authorization: 'Bearer a2' });
    await expect(credential.onRefused(refusalOf(after, true), signal)).rejects.toMatchObject({ code: 'AUTH_NEEDED' });
    await expect(setup(before, before).onRefused(refusalOf(before), signal)).rejects.toMatchObject({
      code: 'AUTH_NEEDED',
      details: { scopes: ['read', 'write'] },
    });
  },
);
