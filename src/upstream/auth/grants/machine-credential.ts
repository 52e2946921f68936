import { HeddleError, UpstreamError } from '../../../core/errors.ts';
import type { Grant } from '../../../store/token-vault.ts';
import { challengedScopes, oauthChallenge, unionOf } from '../auth-needed.ts';
import type { AuthParts, Discovered, OAuthClient, ProtectedServer } from '../auth-parts.ts';
import { quoteRemote } from '../auth-refused.ts';
import type { Challenge, Credential, Refusal } from '../credential.ts';
import type { CredentialRequest } from '../credential-request.ts';
import { discover } from '../discovery.ts';
import { dpopSignerFor, dpopSignerOf } from '../dpop.ts';
import { oauthCredential } from '../oauth-credential.ts';
import { requestToken } from '../oauth-protocol.ts';
import { tokenSource } from '../token-source.ts';

/** The part of a token request that differs between grants. */
export interface GrantRequest {
  readonly client: OAuthClient;
  readonly parameters: Readonly<Record<string, string>>;
}

/** The facts that a grant may need for its request. */
export interface GrantContext {
  readonly discovered: Discovered;
  readonly scopes: readonly string[];
  /** True if the server requires tokens that are bound to a key. */
  readonly isDpop: boolean;
  readonly signal: AbortSignal;
}

export interface MachineCredentialOptions {
  readonly parts: AuthParts;
  readonly request: CredentialRequest;
  /** The client id that stored tokens must have. */
  readonly clientId: string;
  /** The advice if the server refuses new tokens; without it, a sign-in. */
  readonly fix?: string;
  /** Prepares the token request of a grant that needs no person at the server. */
  prepare(context: GrantContext): Promise<GrantRequest>;
  /** Called when the authorization server refused the prepared request. */
  onTokenRefused?(request: GrantRequest, error: HeddleError): void;
}

/** Returns the part of a request that finding its authorization server needs. */
export const targetOf = ({ server, entry: { url, oauth } }: CredentialRequest): ProtectedServer => ({
  server,
  serverUrl: url,
  oauth,
});

/** Authorizes requests with tokens that Heddle gets without a person: a machine grant, or cross-app access. */
export function machineCredential(options: MachineCredentialOptions): Credential {
  const { parts, request, clientId } = options;
  const { principal } = request;
  const target = targetOf(request);
  const { server, serverUrl, oauth } = target;
  const { vault, leases, clock, renewals } = parts;
  let challenge: Challenge | undefined;
  // The scopes that the server has demanded beyond those of its first challenge.
  let demanded: readonly string[] = [];
  // True if the server has no metadata at its well-known addresses: its challenge may name another address.
  let awaitsChallenge = false;

  let discovered: Discovered | undefined;

  async function prepare(previous: Grant | undefined, signal: AbortSignal): Promise<boolean> {
    discovered = await discover(parts, { ...target, challenge, knownIssuer: previous?.issuer, signal });
    const isConfigured = oauth?.issuer !== undefined || oauth?.authServerMetadataUrl !== undefined;
    awaitsChallenge = !challenge && discovered.metadataUrl === undefined && !isConfigured;
    return !awaitsChallenge;
  }

  async function renew(previous: Grant | undefined, signal: AbortSignal): Promise<Grant | undefined> {
    if (!discovered) return undefined;
    requireIssuer(target, previous, discovered);
    const kept = demanded.length > 0 ? (previous?.scopes ?? []) : [];
    const scopes = unionOf(unionOf(scopesOf(discovered), demanded), kept);
    const isDpop = discovered.requiresDpop || challenge?.scheme === 'dpop';
    return await requestGrant(options, { discovered, scopes, isDpop, signal });
  }

  /** Chooses the scopes: those of the configuration, else of the challenge, else all that the server supports. */
  function scopesOf({ scopesSupported = [] }: Discovered): readonly string[] {
    if (oauth?.scopes) return oauth.scopes;
    const challenged = challengedScopes(challenge);
    return challenged.length > 0 ? challenged : scopesSupported;
  }

  const accepts = (grant: Grant) =>
    grant.clientId === clientId && (oauth?.issuer === undefined || grant.issuer === oauth.issuer);
  const source = tokenSource({ vault, leases, serverUrl, principal, clock, renewals, accepts, prepare, renew });
  const dpopSigner = (grant: Grant) => dpopSignerOf(parts, grant);
  const credential = oauthCredential({ server, serverUrl, source, dpopSigner });

  async function demandScopes(refusal: Refusal, signal: AbortSignal): Promise<boolean> {
    const used = source.current();
    const missing = challengedScopes(oauthChallenge(refusal)).filter((scope) => !demanded.includes(scope));
    if (!used || missing.length === 0 || refusal.isRetry) throw scopesRefused(server, refusal);
    demanded = unionOf(demanded, missing);
    return (await source.renewAfter(used, signal)) !== undefined;
  }

  return {
    ...credential,
    headersFor: (request) => (awaitsChallenge ? {} : credential.headersFor(request)),
    async onRefused(refusal, signal) {
      const found = oauthChallenge(refusal);
      if (found?.params.error === 'insufficient_scope') return await demandScopes(refusal, signal);
      challenge = found ?? { scheme: 'bearer', params: {} };
      if (!source.current()) return (await source.fresh(signal)) !== undefined;
      return await credential.onRefused(refusal, signal).catch((error) => {
        throw withFix(error, options.fix);
      });
    },
  };
}

/** Requires the issuer of the first tokens: a server could name one of its own, and get the client's secret. */
function requireIssuer({ server, oauth }: ProtectedServer, previous: Grant | undefined, { as }: Discovered): void {
  if (!previous || previous.issuer === as.issuer || oauth?.authServerMetadataUrl !== undefined) return;
  const [issuer, previousIssuer] = [quoteRemote(as.issuer), quoteRemote(previous.issuer)];
  const reason = `${server} now names the authorization server ${issuer}; its tokens came from ${previousIssuer}.`;
  throw new UpstreamError('AUTH_NEEDED', `${reason} The new one got nothing.`, {
    delivered: 'no',
    fix: `Check which one is right, and set \`oauth.issuer\` of ${server} to it.`,
    details: { server, issuer, previousIssuer },
  });
}

async function requestGrant(options: MachineCredentialOptions, context: GrantContext): Promise<Grant> {
  const { parts, request } = options;
  const { principal, server } = request;
  const { discovered, scopes, signal } = context;
  const { as, resource, resourceParameter } = discovered;
  const prepared = await options.prepare(context);
  const { client, parameters } = prepared;
  const dpop = context.isDpop ? await dpopSignerFor(parts, as, principal) : undefined;
  const all = {
    ...parameters,
    ...(resourceParameter === undefined ? {} : { resource: resourceParameter }),
    ...(scopes.length > 0 ? { scope: scopes.join(' ') } : {}),
  };
  const tokens = await requestToken(parts, { server, as, client, parameters: all, dpop, signal }).catch((error) => {
    if (HeddleError.is(error) && error.code === 'AUTH_REFUSED') options.onTokenRefused?.(prepared, error);
    throw error;
  });
  return {
    issuer: as.issuer,
    resource,
    principal,
    serverUrl: request.entry.url,
    accessToken: tokens.accessToken,
    tokenType: tokens.tokenType === 'DPoP' ? 'DPoP' : 'Bearer',
    ...(tokens.expiresAt === undefined ? {} : { expiresAt: tokens.expiresAt }),
    receivedAt: parts.clock(),
    scopes: tokens.scopes ?? scopes,
    clientId: options.clientId,
    ...(tokens.tokenType === 'DPoP' && dpop ? { dpopKey: dpop.privateKey } : {}),
  };
}

function withFix(error: unknown, fix: string | undefined): unknown {
  if (fix === undefined || !HeddleError.is(error) || error.code !== 'AUTH_NEEDED') return error;
  const { message, details, cause } = error;
  if (details.previousIssuer !== undefined) return error; // It has advice of its own.
  return new UpstreamError('AUTH_NEEDED', message, { delivered: 'no', fix, details, cause });
}

function scopesRefused(server: string, refusal: Refusal): UpstreamError {
  const scopes = challengedScopes(oauthChallenge(refusal));
  const named = scopes.length > 0 ? `: ${scopes.join(' ')}` : '';
  return new UpstreamError('AUTH_NEEDED', `${server} requires scopes that its token has not got${named} (HTTP 403).`, {
    delivered: 'no',
    fix: 'Have the authorization server allow these scopes for `oauth.clientId`.',
    details: { server, status: refusal.status, scopes: [...scopes], oauthError: 'insufficient_scope' },
  });
}
