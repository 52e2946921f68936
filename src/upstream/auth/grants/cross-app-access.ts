import { createHash } from 'node:crypto';
import { BoundedSet } from '../../../core/bounded-map.ts';
import { HeddleError } from '../../../core/errors.ts';
import type { Grant } from '../../../store/token-vault.ts';
import { authNeeded } from '../auth-needed.ts';
import type { AuthorizationServer, AuthParts, Discovered } from '../auth-parts.ts';
import type { Credential } from '../credential.ts';
import type { CredentialRequest } from '../credential-request.ts';
import { requestToken } from '../oauth-protocol.ts';
import { configuredClient } from './configured-client.ts';
import { idTokenExpiry } from './id-token.ts';
import { JWT_BEARER } from './jwt-bearer.ts';
import { machineCredential } from './machine-credential.ts';
import { findProvider, type XaaSettings } from './provider.ts';

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';
const ID_JAG_PROFILE = 'urn:ietf:params:oauth:grant-profile:id-jag';

/** The errors of a provider that end its session: the user has to sign in again. */
const SESSION_OVER = new Set(['invalid_grant', 'login_required', 'interaction_required']);

/**
 * Opens the credential of a server with `oauth.xaa`. The session at the identity provider is exchanged for an ID-JAG,
 * which the server's authorization server exchanges for an access token. The ID-JAG is used once and not stored.
 */
export function crossAppAccess(request: CredentialRequest, parts: AuthParts): Credential {
  const { server, entry, principal } = request;
  const { oauth } = entry;
  const xaa = requireProvider(parts, server);
  const clientId = oauth?.clientId ?? oauth?.clientMetadataUrl;
  if (!oauth || clientId === undefined) {
    throw incomplete(server, 'has no client', 'Set `oauth.clientId`, and the secret or the key of that client.');
  }
  return machineCredential({
    parts,
    request,
    clientId,
    async prepare({ discovered, scopes, signal }) {
      checkProfile(server, discovered.as);
      const exchange = { parts, server, xaa, principal, discovered, scopes, signal };
      const assertion = await requestIdJag(exchange);
      return {
        client: configuredClient({ ...oauth, clientId }, discovered.as),
        parameters: { grant_type: JWT_BEARER, assertion },
      };
    },
  });
}

/** Returns the setting `xaa`. Throws CONFIG_INVALID if there is none. */
export function requireProvider(parts: Pick<AuthParts, 'xaa'>, server: string): XaaSettings {
  const xaa = parts.xaa?.();
  if (xaa) return xaa;
  throw incomplete(server, 'names no identity provider', 'Set `xaa` at the top level of heddle.json.');
}

/** Throws AUTH_REFUSED if the metadata lists grant profiles and ID-JAG is not among them: a sign-in would be in vain. */
export function checkProfile(server: string, { issuer, metadata }: AuthorizationServer): void {
  const profiles = metadata.authorization_grant_profiles_supported;
  if (profiles === undefined || (Array.isArray(profiles) && profiles.includes(ID_JAG_PROFILE))) return;
  throw new HeddleError(
    'AUTH_REFUSED',
    `${issuer}, the authorization server of ${server}, does not support cross-app access.`,
    {
      fix: `Remove \`oauth.xaa\` from ${server} to sign in to it directly.`,
      details: { server, issuer },
    },
  );
}

interface Exchange {
  readonly parts: AuthParts;
  readonly server: string;
  readonly xaa: XaaSettings;
  readonly principal: string;
  readonly discovered: Discovered;
  readonly scopes: readonly string[];
  readonly signal: AbortSignal;
}

interface Subject {
  readonly token: string;
  readonly type: 'id_token' | 'refresh_token';
}

/** Exchanges the session at the provider for an ID-JAG. */
async function requestIdJag(exchange: Exchange): Promise<string> {
  const { parts, server, xaa, principal, signal } = exchange;
  const session = await parts.vault.find(xaa.issuer, principal);
  const subjects = session?.clientId === xaa.clientId ? subjectsOf(session, parts.clock()) : [];
  if (subjects.length === 0) throw sessionNeeded(server, xaa, 'No one has signed in at');
  const provider = await findProvider(parts, xaa, { server, signal });
  for (const subject of subjects) {
    if (isOver(parts, subject)) continue;
    try {
      return await exchangeSubject(exchange, provider, subject);
    } catch (error) {
      if (!isSessionOver(error)) throw providerRefused(server, xaa, error);
      markOver(parts, subject);
    }
  }
  throw sessionNeeded(server, xaa, 'The session is over at');
}

/** Returns the ID token while it is valid, then the refresh token. */
function subjectsOf({ idToken, refreshToken }: Grant, now: number): readonly Subject[] {
  const isValid = idToken !== undefined && idTokenExpiry(idToken) > now;
  return [
    ...(isValid ? [{ token: idToken, type: 'id_token' as const }] : []),
    ...(refreshToken === undefined ? [] : [{ token: refreshToken, type: 'refresh_token' as const }]),
  ];
}

async function exchangeSubject(exchange: Exchange, provider: AuthorizationServer, subject: Subject): Promise<string> {
  const { parts, server, xaa, discovered, scopes, signal } = exchange;
  const { accessToken, issuedTokenType } = await requestToken(parts, {
    server,
    as: provider,
    client: configuredClient(xaa, provider),
    parameters: {
      grant_type: TOKEN_EXCHANGE,
      requested_token_type: ID_JAG,
      subject_token: subject.token,
      subject_token_type: `urn:ietf:params:oauth:token-type:${subject.type}`,
      audience: discovered.as.issuer,
      resource: discovered.resource,
      ...(scopes.length > 0 ? { scope: scopes.join(' ') } : {}),
    },
    signal,
  });
  if (issuedTokenType === ID_JAG) return accessToken;
  throw new HeddleError('AUTH_REFUSED', `${xaa.issuer} returned another token than the ID-JAG for ${server}.`, {
    fix: 'Have the provider enable cross-app access for `xaa.clientId`.',
    details: { server, issuer: xaa.issuer },
  });
}

const isSessionOver = (error: unknown) =>
  HeddleError.is(error) && error.code === 'AUTH_REFUSED' && SESSION_OVER.has(String(error.details.oauthError));

/** Names the server in a refusal of the provider. It concerns this server only. */
function providerRefused(server: string, { issuer }: XaaSettings, error: unknown): unknown {
  if (!HeddleError.is(error) || error.code !== 'AUTH_REFUSED' || error.details.oauthError === undefined) return error;
  const { oauthError } = error.details;
  return new HeddleError('AUTH_REFUSED', `${issuer} refused cross-app access to ${server} (${oauthError}).`, {
    fix: `Have the administrator of the provider allow ${server} for \`xaa.clientId\`.`,
    details: { server, issuer, oauthError },
    cause: error,
  });
}

// Hashes of ended sessions, so that the other servers send nothing with them.
const ended = new WeakMap<object, BoundedSet<string>>();
const MAX_ENDED = 1000;
const hashOf = ({ token }: Subject) => createHash('sha256').update(token).digest('base64url');
const isOver = ({ vault }: AuthParts, subject: Subject) => ended.get(vault)?.has(hashOf(subject)) ?? false;

function markOver({ vault }: AuthParts, subject: Subject): void {
  const set = ended.get(vault) ?? new BoundedSet<string>(MAX_ENDED);
  ended.set(vault, set.add(hashOf(subject)));
}

const sessionNeeded = (server: string, { issuer }: XaaSettings, reason: string) =>
  authNeeded({
    server,
    reason: `${reason} ${issuer}, the identity provider of ${server}. One sign-in opens all its servers.`,
    details: { issuer },
  });

const incomplete = (server: string, defect: string, fix: string) =>
  new HeddleError('CONFIG_INVALID', `The cross-app access of ${server} ${defect}.`, { fix });
