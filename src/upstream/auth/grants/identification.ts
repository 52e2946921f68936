import { createHash, randomBytes } from 'node:crypto';
import { decodeJwt } from 'jose/jwt/decode';
import type { JsonObject } from '../../../core/call.ts';
import type { AuthParts } from '../auth-parts.ts';
import { authRefused, quoteRemote } from '../auth-refused.ts';
import { findIssuer } from '../discovery.ts';
import { requestToken } from '../oauth-protocol.ts';
import { configuredClient } from './configured-client.ts';
import { verifyIdToken } from './id-token.ts';
import { providerKeys } from './provider.ts';

interface ProviderClient {
  readonly issuer: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly signal: AbortSignal;
}

interface ProviderRedirect {
  readonly facts: JsonObject;
  readonly query: string;
  readonly clientSecret?: string;
  readonly signal: AbortSignal;
}

/** The place of the server's name in messages. */
const GATEWAY = 'the gateway';
const BYTES = 32;

/** Starts an OpenID Connect sign-in that only tells who is at the browser. No token of it is kept. */
export async function beginIdentification(
  parts: AuthParts,
  { issuer, clientId, redirectUri, signal }: ProviderClient,
): Promise<{ readonly url: string; readonly state: string; readonly facts: JsonObject }> {
  const as = await findIssuer(parts, { server: GATEWAY, issuer, signal });
  const { authorization_endpoint: endpoint } = as.metadata;
  if (typeof endpoint !== 'string') {
    throw authRefused({ server: GATEWAY, url: issuer, defect: 'names no authorization_endpoint' });
  }
  const random = () => Buffer.from((parts.random ?? randomBytes)(BYTES)).toString('base64url');
  const [state, verifier, nonce] = [random(), random(), random()];
  const url = new URL(endpoint);
  const parameters = {
    ...{ response_type: 'code', client_id: clientId, redirect_uri: redirectUri, scope: 'openid', state, nonce },
    ...{ code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' },
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { url: url.href, state, facts: { issuer, clientId, redirectUri, state, verifier, nonce } };
}

/** Ends it. The redirect is checked before anything of it is used: `state`, then `iss` as text. */
export async function finishIdentification(
  parts: AuthParts,
  { facts, query, clientSecret, signal }: ProviderRedirect,
): Promise<{ readonly issuer: string; readonly subject: string }> {
  const [issuer, clientId, redirectUri] = [facts.issuer, facts.clientId, facts.redirectUri].map(String) as Texts;
  const as = await findIssuer(parts, { server: GATEWAY, issuer, signal });
  const refused = (defect: string, oauthError?: string) =>
    authRefused({ server: GATEWAY, url: issuer, defect, ...(oauthError !== undefined && { oauthError }) });
  const params = new URLSearchParams(query);
  const only = (name: string) => (params.getAll(name).length === 1 ? params.get(name) : null);
  if (only('state') !== facts.state) throw refused('redirected with the `state` of another sign-in');
  const isPromised = as.metadata.authorization_response_iss_parameter_supported === true;
  if ((isPromised || params.has('iss')) && only('iss') !== issuer) throw refused('redirected with another `iss`');
  const error = params.get('error');
  if (error !== null) throw refused(`refuses with ${quoteRemote(error, 100)}`, quoteRemote(error, 100));
  const code = only('code');
  if (code === null) throw refused('redirected without a code');
  const { idToken } = await requestToken(parts, {
    ...{ server: GATEWAY, as, signal, client: configuredClient({ clientId, clientSecret }, as), wantsIdToken: true },
    parameters: {
      ...{ grant_type: 'authorization_code', code, redirect_uri: redirectUri },
      code_verifier: String(facts.verifier),
    },
  });
  if (idToken === undefined) throw refused('returned no ID token');
  const keys = await providerKeys(parts, as, { server: GATEWAY, signal });
  await verifyIdToken(idToken, { issuer, clientId, nonce: String(facts.nonce), keys, clock: parts.clock });
  return { issuer, subject: String(decodeJwt(idToken).sub) };
}

type Texts = [string, string, string];
