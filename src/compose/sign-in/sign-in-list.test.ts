import { expect } from 'vitest';
import { memoryStore } from '../../../test/memory-store.ts';
import { verifies } from '../../../test/requirements.ts';
import type { RemoteEntry } from '../../config/schema/schema.ts';
import type { Caller } from '../../core/call.ts';
import { type Grant, SHARED_PRINCIPAL } from '../../store/token-vault.ts';
import { rememberingCredential } from '../../upstream/auth/remembering-credential.ts';
import { listSignIns } from './sign-in-list.ts';

const URL_ = 'https://mcp.example/mcp';
const NOW = 1_000_000;
const owner: Caller = { id: 'owner', roles: ['owner'], via: 'cli' };
const entry = { type: 'http', enabled: true, url: URL_, headers: {}, permissions: {} } as unknown as RemoteEntry;
const key = { serverUrl: URL_, principal: SHARED_PRINCIPAL };

const grantAt = (receivedAt: number): Grant => ({
  ...{ ...key, issuer: 'https://as.example', resource: URL_, clientId: 'c', scopes: ['read'] },
  ...{ accessToken: 'a', tokenType: 'Bearer', receivedAt },
});
const refusalAt = (at: number) => ({ ...key, at, until: at + 900_000, reason: 'mail refused.', scopes: ['write'] });

const CASES = [
  { name: 'no fact', state: 'none' },
  { name: 'tokens', grantedAt: NOW, state: 'signed-in' },
  { name: 'a refusal', refusedAt: NOW, state: 'needed' },
  { name: 'tokens that were received before a refusal', grantedAt: NOW - 1, refusedAt: NOW, state: 'needed' },
  { name: 'tokens that were received at the time of a refusal', grantedAt: NOW, refusedAt: NOW, state: 'signed-in' },
  { name: 'tokens that were received after a refusal', grantedAt: NOW, refusedAt: NOW - 1, state: 'signed-in' },
  { name: 'scopes that a call lacks', grantedAt: NOW - 1, refusedAt: NOW, isOfCall: true, state: 'signed-in' },
];

for (const { name, grantedAt, refusedAt, isOfCall, state } of CASES) {
  verifies('A1', `shows the state that the credential acts on, with ${name}`, async () => {
    const store = await memoryStore(() => NOW, grantedAt === undefined ? [] : [grantAt(grantedAt)]);
    const { signIns, vault } = store;
    if (refusedAt !== undefined) await signIns.refuse({ ...refusalAt(refusedAt), ...(isOfCall && { isOfCall }) });
    const clock = () => NOW;
    const [shown] = await listSignIns({ store, clock, provider: undefined }, [{ name: 'mail', entry }], owner);
    const kind = { headersFor: () => ({}), onRefused: async () => false };
    const refusal = await rememberingCredential(kind, { ...key, server: 'mail', signIns, vault, clock }).refusal();
    expect([shown?.state, refusal?.code]).toEqual([state, state === 'needed' ? 'AUTH_NEEDED' : undefined]);
  });
}
