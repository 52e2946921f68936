import { expect } from 'vitest';
import { memoryStore } from '../../../test/memory-store.ts';
import { verifies } from '../../../test/requirements.ts';
import { SHARED_PRINCIPAL } from '../../store/token-vault.ts';
import type { Refusal } from './credential.ts';
import { rememberingCredential } from './remembering-credential.ts';

const URL_ = 'https://mcp.example/mcp';
const NOW = 1_000_000;

const lacking = (scope: string): Refusal => ({
  status: 403,
  challenges: [{ scheme: 'bearer', params: { error: 'insufficient_scope', scope } }],
  ...{ headers: {}, sent: { authorization: 'Bearer a' }, url: new URL(URL_), isRetry: false, isOfCall: true },
});

/** Refuses calls at the same time, and returns the scopes that the store has then. */
async function scopesAfter(missing: readonly string[]): Promise<readonly string[]> {
  const { signIns, vault } = await memoryStore(() => NOW, []);
  const kind = { headersFor: () => ({}), onRefused: async () => false };
  const subject = { server: 'mail', serverUrl: URL_, principal: SHARED_PRINCIPAL };
  const credential = rememberingCredential(kind, { ...subject, signIns, vault, clock: () => NOW });
  const { signal } = new AbortController();
  const refused = missing.map((scope) => credential.onRefused(lacking(scope), signal));
  for (const one of await Promise.allSettled(refused)) expect(one).toMatchObject({ reason: { code: 'AUTH_NEEDED' } });
  return (await signIns.refusal(URL_, SHARED_PRINCIPAL))?.scopes ?? [];
}

verifies('A3', 'remembers the scopes of all calls that are refused at the same time', async () => {
  expect(await scopesAfter(['mail.read', 'mail.write mail.read', 'files'])).toEqual([
    'mail.read',
    'mail.write',
    'files',
  ]);
});

verifies('A3', 'remembers the newest 100 scopes of a server that always requires others', async () => {
  const names = Array.from({ length: 130 }, (_, n) => `scope-${n}`);
  expect(await scopesAfter(names)).toEqual(names.slice(-100));
});
