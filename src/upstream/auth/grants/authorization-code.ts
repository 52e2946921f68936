import { HeddleError } from '../../../core/errors.ts';
import type { Grant } from '../../../store/token-vault.ts';
import { authNeeded, oauthChallenge } from '../auth-needed.ts';
import type { AuthParts, Discovered, OAuthClient, OAuthSettings, TokenResponse } from '../auth-parts.ts';
import { quoteRemote } from '../auth-refused.ts';
import { clientOfGrant } from '../client.ts';
import type { Challenge, Credential } from '../credential.ts';
import type { CredentialRequest } from '../credential-request.ts';
import { discover } from '../discovery.ts';
import { dpopSignerOf } from '../dpop.ts';
import { oauthCredential } from '../oauth-credential.ts';
import { requestToken } from '../oauth-protocol.ts';
import { tokenSource } from '../token-source.ts';

/** Uses the tokens of a sign-in (grant `authorization_code`), and renews them with the refresh token. */
export function authorizationCodeCredential(request: CredentialRequest, parts: AuthParts): Credential {
  const { server, entry, principal } = request;
  const { url: serverUrl, oauth } = entry;
  const { vault, leases, clock, renewals } = parts;
  /** The metadata of the server and its authorization server. It is read again after a 401 or a failure. */
  let discovered: Discovered | undefined;
  /** The refresh token that the authorization server refused. It is not sent again. */
  let refused: string | undefined;

  async function read(grant: Grant, signal: AbortSignal, challenge?: Challenge): Promise<void> {
    discovered = undefined;
    const known = { knownIssuer: grant.issuer, metadataUrl: grant.metadataUrl };
    const found = await discover(parts, { server, serverUrl, oauth, ...known, challenge, signal });
    requireIssuer(request, grant, found);
    discovered = found;
  }

  async function renew(grant: Grant, found: Discovered, signal: AbortSignal): Promise<Grant> {
    requireIssuer(request, grant, found);
    const client = await clientOfGrant(parts, { as: found.as, oauth, clientId: grant.clientId });
    if (!client) throw unknownClient(request, grant);
    const dpop = grant.tokenType === 'DPoP' ? dpopSignerOf(parts, grant) : undefined;
    const parameters = refreshParameters(grant, found);
    try {
      return renewedGrant(grant, await requestToken(parts, { server, as: found.as, client, parameters, dpop, signal }));
    } catch (error) {
      discovered = undefined;
      if (oauthErrorOf(error) === 'invalid_grant') refused = grant.refreshToken;
      throw await explained(error, { request, parts, grant, client });
    }
  }

  const source = tokenSource({
    ...{ vault, leases, serverUrl, principal, clock, renewals },
    accepts: (grant) => isOfEntry(grant, oauth),
    async prepare(previous, signal) {
      if (previous?.refreshToken === undefined || previous.refreshToken === refused) return false;
      if (!discovered) await read(previous, signal);
      return true;
    },
    async renew(previous, signal) {
      if (previous?.refreshToken === undefined || !discovered) return undefined;
      return await renew(previous, discovered, signal);
    },
  });

  const credential = oauthCredential({
    ...{ server, serverUrl, source },
    dpopSigner: (grant) => dpopSignerOf(parts, grant),
    beforeRenewal: (grant, refusal, signal) => read(grant, signal, oauthChallenge(refusal)),
  });
  // A logout may have removed the tokens since the last connection.
  return { ...credential, prepare: async () => void (await source.reread()) };

  function renewedGrant(previous: Grant, response: TokenResponse): Grant {
    const { expiresAt: _, ...kept } = previous;
    return {
      ...kept,
      accessToken: response.accessToken,
      tokenType: response.tokenType === 'DPoP' ? 'DPoP' : 'Bearer',
      receivedAt: clock(),
      ...(response.expiresAt !== undefined && { expiresAt: response.expiresAt }),
      ...(response.refreshToken !== undefined && { refreshToken: response.refreshToken }),
      ...(response.scopes && { scopes: response.scopes }),
    };
  }
}

/** A grant of another client or issuer than the configured one counts as none. */
function isOfEntry(grant: Grant, { clientId, issuer }: Pick<OAuthSettings, 'clientId' | 'issuer'> = {}): boolean {
  return (clientId ?? grant.clientId) === grant.clientId && (issuer ?? grant.issuer) === grant.issuer;
}

function refreshParameters(grant: Grant, found: Discovered): Readonly<Record<string, string>> {
  const resource = found.resource === grant.resource ? found.resourceParameter : grant.resource;
  return {
    grant_type: 'refresh_token',
    refresh_token: grant.refreshToken ?? '',
    ...(resource !== undefined && { resource }),
  };
}

/** Requires the issuer of the grant. Another one must not receive its refresh token. */
function requireIssuer({ server }: CredentialRequest, grant: Grant, { as }: Discovered): void {
  if (as.issuer === grant.issuer) return;
  const [issuer, previousIssuer] = [quoteRemote(as.issuer), quoteRemote(grant.issuer)];
  throw authNeeded({
    server,
    reason: `${server} now uses the authorization server ${issuer}; the sign-in was at ${previousIssuer}.`,
    scopes: grant.scopes,
    details: { issuer, previousIssuer },
  });
}

const oauthErrorOf = (error: unknown) => (HeddleError.is(error) ? error.details.oauthError : undefined);

interface FailedRenewal {
  readonly request: CredentialRequest;
  readonly parts: AuthParts;
  readonly grant: Grant;
  readonly client: OAuthClient;
}

/** Returns AUTH_NEEDED if only a sign-in helps. Forgets a registration that the authorization server has removed. */
async function explained(error: unknown, { request, parts, grant, client }: FailedRenewal): Promise<unknown> {
  const oauthError = oauthErrorOf(error);
  const { issuer, clientId, scopes } = grant;
  const { server } = request;
  if (oauthError === 'invalid_grant') {
    const reason = `The sign-in to ${server} has ended: ${quoteRemote(issuer)} no longer accepts its refresh token.`;
    return authNeeded({ server, reason, scopes, details: { oauthError }, cause: error });
  }
  if (oauthError !== 'invalid_client' || client.kind !== 'registered') return error;
  await parts.clients.remove(issuer, clientId);
  return unknownClient(request, grant, error);
}

function unknownClient({ server }: CredentialRequest, { issuer, scopes }: Grant, cause?: unknown) {
  const reason = `${quoteRemote(issuer)} no longer knows the client that Heddle registered for ${server}.`;
  return authNeeded({ server, reason, scopes, details: { oauthError: 'invalid_client' }, cause });
}
