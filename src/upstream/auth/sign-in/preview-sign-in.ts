import type { SignInPreview } from '../../../core/records/sign-in.ts';
import type { AuthParts } from '../auth-parts.ts';
import { discover } from '../discovery.ts';
import { authorizationEndpoint, type SignInTarget, scopesOf } from './begin-sign-in.ts';

export interface PreviewRequest {
  readonly target: SignInTarget;
  readonly signal: AbortSignal;
}

/** Finds the authorization server and the scopes of a sign-in without beginning one: no client is registered. */
export async function previewSignIn(parts: AuthParts, { target, signal }: PreviewRequest): Promise<SignInPreview> {
  const { server, serverUrl, principal } = target;
  const refusal = await parts.signIns.refusal(serverUrl, principal);
  const discovered = await discover(parts, { ...target, metadataUrl: refusal?.metadataUrl, signal });
  authorizationEndpoint(server, discovered.as);
  const scopes = scopesOf({ target, redirect: '' }, discovered, refusal);
  return { server, url: serverUrl, issuer: discovered.as.issuer, scopes };
}
