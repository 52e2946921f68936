import { onTestFinished } from 'vitest';
import { guardedFetch } from '../../src/egress/guarded-fetch.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { AuthParts } from '../../src/upstream/auth/auth-parts.ts';
import { parseChallenges } from '../../src/upstream/auth/challenge.ts';
import type { Credential } from '../../src/upstream/auth/credential.ts';
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  openAuthorizationServer,
} from '../servers/authorization-server.ts';
import { openProtectedServer, type ProtectedServer, type ProtectedServerOptions } from '../servers/protected-server.ts';
import { temporaryFolder } from '../temporary-heddle.ts';

export interface ProtectedSetup {
  readonly as: AuthorizationServer;
  readonly server: ProtectedServer;
}

/** Starts an authorization server and a protected server. Both end with the test. */
export async function protectedSetup(
  options: AuthorizationServerOptions & Partial<ProtectedServerOptions> = {},
): Promise<ProtectedSetup> {
  const as = await openAuthorizationServer(options);
  onTestFinished(() => as.close());
  const server = await openProtectedServer({ era: 'modern', authorizationServers: [as], ...options });
  onTestFinished(() => server.close());
  return { as, server };
}

/** Opens the store of a new home folder, and the parts of credentials on it. */
export async function authParts(time: { now: number }, home?: string) {
  const folder = home ?? (await temporaryFolder());
  const clock = () => time.now;
  const store = await openStore({ location: `${folder}/heddle.sqlite`, clock, home: folder, env: {} });
  onTestFinished(() => store.close());
  const { vault, clients, signIns, leases } = store;
  const parts: AuthParts = { vault, clients, signIns, leases, fetch: guardedFetch, clock };
  return { folder, store, parts };
}

/** Sends a JSON-RPC request with a credential, and once more if the credential says so. Returns the last status. */
export async function sendWith(credential: Credential, url: string, isRetry = false): Promise<number> {
  const first = await post(credential, url);
  if (first.response.status !== 401 && first.response.status !== 403) return first.response.status;
  const { response, sent } = first;
  const refusal = {
    status: response.status as 401 | 403,
    challenges: parseChallenges(response.headers.get('www-authenticate') ?? undefined),
    headers: Object.fromEntries(response.headers),
    ...{ sent, isRetry, url: new URL(url) },
  };
  const goesOn = await credential.onRefused(refusal, AbortSignal.timeout(60_000));
  return goesOn && !isRetry ? sendWith(credential, url, true) : response.status;
}

async function post(credential: Credential, url: string) {
  const sent = await credential.headersFor({ method: 'POST', url: new URL(url) });
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...sent };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: {} });
  const response = await fetch(url, { method: 'POST', headers, body });
  await response.arrayBuffer();
  return { response, sent };
}
