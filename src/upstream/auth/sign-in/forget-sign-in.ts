import type { ForgottenSignIn } from '../../../core/records/sign-in.ts';
import type { Grant } from '../../../store/token-vault.ts';
import type { AuthParts, Discovered } from '../auth-parts.ts';
import { clientOfGrant } from '../client.ts';
import { discover } from '../discovery.ts';
import { revokeToken } from '../oauth-protocol.ts';
import { withTokenLease } from '../token-lease.ts';
import type { SignInTarget } from './begin-sign-in.ts';

export interface ForgetRequest {
  readonly target: SignInTarget;
  /** The result of discovery, if the caller has it. */
  readonly discovered?: Discovered;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Removes the tokens of a principal for a server, and revokes them where the authorization server supports that. They
 * are removed even if the revocation fails. Holds the lease, so that no renewal writes them again.
 */
export async function forgetSignIn(parts: AuthParts, request: ForgetRequest): Promise<ForgottenSignIn> {
  const own = await forgetTokens(parts, request);
  if (!request.target.oauth?.xaa) return own;
  // Without this the session at the provider would open the server again.
  const session = await forgetProvider(parts, request);
  const revoked = [own.revoked, session.revoked];
  return {
    server: own.server,
    removed: own.removed || session.removed,
    revoked: revoked.includes('failed') ? 'failed' : revoked.includes(true),
  };
}

/** Removes the session at the identity provider of a server with `oauth.xaa`. */
async function forgetProvider(parts: AuthParts, { target, signal }: ForgetRequest): Promise<ForgottenSignIn> {
  const { providerTarget, discoverProvider } = await import('../grants/provider-sign-in.ts');
  const discovered = await discoverProvider(parts, { target, signal }).catch(() => undefined);
  return forgetTokens(parts, { target: providerTarget(parts, target), signal, ...(discovered && { discovered }) });
}

async function forgetTokens(parts: AuthParts, request: ForgetRequest): Promise<ForgottenSignIn> {
  const { target, signal } = request;
  const { server, serverUrl, principal } = target;
  if (!(await parts.vault.find(serverUrl, principal))) return { server, removed: false, revoked: false };
  return withTokenLease<ForgottenSignIn>({
    ...{ leases: parts.leases, serverUrl, principal, ...(signal && { signal }) },
    work: async (_lease, limited) => {
      const grant = await parts.vault.find(serverUrl, principal);
      const revoked = grant ? await revoke(parts, { ...request, signal: limited }, grant) : false;
      return { server, removed: await parts.vault.remove(serverUrl, principal), revoked };
    },
  });
}

/** Revokes the refresh token, then the access token. Another issuer than that of the grant receives nothing. */
async function revoke(
  parts: AuthParts,
  { target, signal, ...request }: ForgetRequest,
  grant: Grant,
): Promise<boolean | 'failed'> {
  const { server, oauth } = target;
  const { issuer, clientId, accessToken, refreshToken, metadataUrl } = grant;
  try {
    const { as } = request.discovered ?? (await discover(parts, { ...target, metadataUrl, signal }));
    const client = await clientOfGrant(parts, { as, oauth, clientId });
    if (as.issuer !== issuer || !client) return false;
    const common = { server, as, client, signal };
    if (refreshToken !== undefined) {
      await revokeToken(parts, { ...common, token: refreshToken, hint: 'refresh_token' });
    }
    return await revokeToken(parts, { ...common, token: accessToken, hint: 'access_token' });
  } catch {
    return 'failed';
  }
}
