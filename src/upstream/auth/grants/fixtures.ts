import { memoryStore } from '../../../../test/memory-store.ts';
import type { RemoteEntry } from '../../../config/schema/schema.ts';
import { guardedFetch } from '../../../egress/guarded-fetch.ts';
import { SHARED_PRINCIPAL } from '../../../store/token-vault.ts';
import type { AuthParts } from '../auth-parts.ts';
import type { Credential, Refusal } from '../credential.ts';
import type { CredentialRequest } from '../credential-request.ts';

/** Returns the parts of sign-ins with a store in memory, and a clock that a test moves. */
export async function testParts(more: Partial<AuthParts> = {}) {
  const time = { ahead: 0 };
  const clock = () => Date.now() + time.ahead;
  const { vault, leases, clients, signIns } = await memoryStore(clock);
  const parts: AuthParts = { vault, leases, clients, signIns, fetch: guardedFetch, clock, ...more };
  return { parts, vault, time };
}

/** Returns the request for the credential of a server with the given `oauth`. */
export const credentialRequest = (url: string, oauth: object, server = 'demo'): CredentialRequest => ({
  server,
  entry: { type: 'http', url, headers: {}, oauth: { credentials: 'shared', ...oauth } } as unknown as RemoteEntry,
  principal: SHARED_PRINCIPAL,
});

const signal = AbortSignal.timeout(60_000);

/** Sends requests as a transport does: after a refusal once more, if the credential says so. Returns the status. */
export async function sendWith(credential: Credential, url: string): Promise<number> {
  const target = new URL(url);
  const send = async () => {
    const sent = await credential.headersFor({ method: 'POST', url: target });
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    const headers = { ...sent, 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const response = await fetch(target, { method: 'POST', headers, body });
    await response.arrayBuffer();
    return { response, sent };
  };
  const first = await send();
  if (first.response.status !== 401 && first.response.status !== 403) return first.response.status;
  const refusal: Refusal = {
    status: first.response.status,
    challenges: challengesOf(first.response.headers.get('www-authenticate') ?? ''),
    headers: Object.fromEntries(first.response.headers),
    sent: first.sent,
    url: target,
    isRetry: false,
  };
  return (await credential.onRefused(refusal, signal)) ? (await send()).response.status : first.response.status;
}

/** Parses the one challenge that the test servers send. */
function challengesOf(header: string): Refusal['challenges'] {
  const [scheme = ''] = header.split(' ');
  if (scheme === '') return [];
  const pairs = [...header.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]);
  return [{ scheme: scheme.toLowerCase(), params: Object.fromEntries(pairs) }];
}
