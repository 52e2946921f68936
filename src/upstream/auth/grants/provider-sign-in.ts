import { randomBytes } from 'node:crypto';
import type { JsonObject } from '../../../core/call.ts';
import type { PendingSignIn } from '../../../store/sign-in-book.ts';
import type { AuthParts, Discovered, OAuthSettings, ProtectedServer, TokenResponse } from '../auth-parts.ts';
import { authRefused } from '../auth-refused.ts';
import { discover } from '../discovery.ts';
import { checkProfile, requireProvider } from './cross-app-access.ts';
import { verifyIdToken } from './id-token.ts';
import { findProvider, providerKeys } from './provider.ts';

/** A server with `oauth.xaa`, and the owner of the session at its identity provider. */
type XaaTarget = ProtectedServer & { readonly principal: string };

interface ProviderSignInRequest {
  readonly target: XaaTarget;
  readonly signal?: AbortSignal | undefined;
}

/** The parts of a sign-in at the identity provider, in place of those of the server. */
export interface ProviderSignIn {
  readonly target: XaaTarget;
  readonly discovered: Discovered;
  readonly scopes: readonly string[];
  readonly parameters: Readonly<Record<string, string>>;
  readonly extra: JsonObject;
}

const NONCE_BYTES = 32;

/**
 * Prepares the one sign-in for all servers with `oauth.xaa`. Its tokens are stored under the provider's issuer. Throws
 * AUTH_REFUSED first if the server could not use them.
 */
export async function providerSignIn(parts: AuthParts, request: ProviderSignInRequest): Promise<ProviderSignIn> {
  const { target, signal } = request;
  const { server } = target;
  checkProfile(server, (await discover(parts, { ...target, signal })).as);
  const discovered = await discoverProvider(parts, request);
  const nonce = Buffer.from((parts.random ?? randomBytes)(NONCE_BYTES)).toString('base64url');
  const offered = discovered.as.metadata.scopes_supported;
  const hasOffline = !Array.isArray(offered) || offered.includes('offline_access');
  return {
    target: providerTarget(parts, target),
    discovered,
    scopes: hasOffline ? ['openid', 'offline_access'] : ['openid'],
    parameters: { nonce },
    extra: { nonce },
  };
}

/** Reads the metadata of the provider. Its resource is itself: no `resource` is sent. */
export async function discoverProvider(parts: AuthParts, request: ProviderSignInRequest): Promise<Discovered> {
  const { target, signal } = request;
  const xaa = requireProvider(parts, target.server);
  const as = await findProvider(parts, xaa, { server: target.server, signal });
  return { resource: xaa.issuer, requiresDpop: false, as };
}

/** Returns the provider as the server of a sign-in, with the client of the setting `xaa`. */
export function providerTarget(parts: AuthParts, { server, principal }: XaaTarget): XaaTarget {
  const { issuer, clientId, clientSecret, callbackPort } = requireProvider(parts, server);
  const oauth: OAuthSettings = {
    ...{ credentials: 'shared', issuer, clientId },
    ...(clientSecret !== undefined && { clientSecret }),
    ...(callbackPort !== undefined && { callbackPort }),
  };
  return { server, serverUrl: issuer, principal, oauth };
}

/** Verifies the ID token of a sign-in at the provider, signature included, before the tokens are stored. */
export async function verifyProviderTokens(
  parts: AuthParts,
  { idToken }: TokenResponse,
  { server, extra }: Pick<PendingSignIn, 'server' | 'extra'>,
): Promise<void> {
  const xaa = requireProvider(parts, server);
  const { issuer, clientId } = xaa;
  if (idToken === undefined) throw authRefused({ server, url: issuer, defect: 'returned no ID token' });
  const provider = await findProvider(parts, xaa, { server });
  const keys = await providerKeys(parts, provider, { server });
  await verifyIdToken(idToken, { issuer, clientId, nonce: String(extra?.nonce), keys, clock: parts.clock });
}
