import type { JsonObject } from '../../core/call.ts';
import type { OpenRedirect, RedirectNeed } from '../../core/records/sign-in.ts';
import { isLoopbackUrl } from '../../egress/address-source.ts';
import type { ClientRegistration } from '../../store/vault/client-book.ts';
import type { AuthorizationServer, AuthParts, ClientAuthMethod, OAuthClient, ProtectedServer } from './auth-parts.ts';
import { authRefused, quoteRemote } from './auth-refused.ts';
import { authMethodOf, supportedMethods } from './client-authentication.ts';
import { registerClient } from './oauth-protocol.ts';

export interface ClientRequest extends ProtectedServer {
  readonly as: AuthorizationServer;
  readonly principal: string;
  /** The redirect URI, or the function that opens a listener for it. */
  readonly redirect: string | OpenRedirect;
  readonly signal?: AbortSignal | undefined;
}

export interface ChosenClient {
  readonly client: OAuthClient;
  readonly redirectUri: string;
}

/** The lifetime of a sign-in in progress. */
export const SIGN_IN_TTL_MS = 10 * 60_000;

/** The metadata document of the gateway's own client. */
const CLIENT_DOCUMENT_PATH = '/oauth/client.json';

/** Chooses the client of a sign-in: the configured one, else a metadata document, else a registration. */
export async function chooseClient(parts: AuthParts, request: ClientRequest): Promise<ChosenClient> {
  const { as, oauth } = request;
  if (oauth?.clientId !== undefined) {
    await requireSameIssuer(parts, request);
    // Other hosts register `localhost` for a configured client with a port.
    const host = oauth.callbackPort === undefined ? '127.0.0.1' : 'localhost';
    return { client: configuredClient(as, oauth.clientId, oauth), redirectUri: await redirectOf(request, host) };
  }
  const document = documentUrl(parts, request);
  if (document !== undefined && as.metadata.client_id_metadata_document_supported === true) {
    return { client: documentClient(as, document, oauth), redirectUri: await redirectOf(request, '127.0.0.1') };
  }
  return chooseRegistration(parts, request);
}

/** Refuses another issuer than that of the stored tokens: a server could name one of its own, and get the secret. */
async function requireSameIssuer({ vault }: AuthParts, request: ClientRequest): Promise<void> {
  const { server, serverUrl, principal, oauth, as } = request;
  if (oauth?.issuer !== undefined || oauth?.authServerMetadataUrl !== undefined) return;
  // Tokens of an unknown key do not prevent a sign-in.
  const stored = await vault.find(serverUrl, principal).catch(() => undefined);
  if (!stored || stored.clientId !== oauth?.clientId || stored.issuer === as.issuer) return;
  throw authRefused({
    ...{ server, url: as.issuer },
    defect: `is not ${quoteRemote(stored.issuer)}, the authorization server that \`oauth.clientId\` was used with`,
    fix: `Check which one is right, and set \`oauth.issuer\` of ${server} to it.`,
  });
}

/** Returns the client that tokens were issued to, with its secret; undefined if its registration is gone. */
export async function clientOfGrant(
  parts: Pick<AuthParts, 'clients'>,
  { as, oauth, clientId }: Pick<ClientRequest, 'as' | 'oauth'> & { readonly clientId: string },
): Promise<OAuthClient | undefined> {
  if (oauth?.clientId === clientId) return configuredClient(as, clientId, oauth);
  const found = await findRegistration(parts, as.issuer, clientId);
  if (found) return registeredClient(as, found);
  return URL.canParse(clientId) ? documentClient(as, clientId, oauth) : undefined;
}

/** Records that a sign-in with a registered client got its callback (undefined), or was cancelled (0). */
export async function markRegistration(
  parts: Pick<AuthParts, 'clients'>,
  { issuer, clientId }: { readonly issuer: string; readonly clientId: string },
  unansweredSince: number | undefined,
): Promise<void> {
  const found = await findRegistration(parts, issuer, clientId);
  if (!found || found.unansweredSince === unansweredSince) return;
  const { unansweredSince: _, ...registration } = found;
  await parts.clients.put({ ...registration, ...(unansweredSince !== undefined && { unansweredSince }) });
}

async function findRegistration({ clients }: Pick<AuthParts, 'clients'>, issuer: string, clientId: string) {
  return (await clients.find(issuer)).find((registration) => registration.clientId === clientId);
}

type Credentials = Pick<OAuthClient, 'clientSecret' | 'privateKey'>;

const credentialsOf = ({ clientSecret, privateKey }: Credentials): Credentials => ({
  ...(clientSecret !== undefined && { clientSecret }),
  ...(privateKey !== undefined && { privateKey }),
});

function configuredClient(as: AuthorizationServer, clientId: string, configured: Credentials): OAuthClient {
  const credentials = credentialsOf(configured);
  return { kind: 'configured', clientId, ...credentials, authMethod: authMethodOf(as, credentials) };
}

/** A metadata document has no secret; it may publish the key of its assertions. */
function documentClient(as: AuthorizationServer, clientId: string, oauth: ProtectedServer['oauth']): OAuthClient {
  const credentials = oauth?.privateKey === undefined ? {} : { privateKey: oauth.privateKey };
  return { kind: 'metadata-document', clientId, ...credentials, authMethod: authMethodOf(as, credentials) };
}

/** Returns the client id URL: https, as authorization servers fetch it. */
function documentUrl({ publicUrl }: Pick<AuthParts, 'publicUrl'>, { oauth }: Pick<ProtectedServer, 'oauth'>) {
  if (oauth?.clientMetadataUrl !== undefined) return oauth.clientMetadataUrl;
  const base = publicUrl?.();
  return base?.startsWith('https:') ? `${base.replace(/\/$/, '')}${CLIENT_DOCUMENT_PATH}` : undefined;
}

/** Returns the redirect URI of a client that accepts any loopback port, or the configured one. */
async function redirectOf(request: ClientRequest, host: RedirectNeed['host']): Promise<string> {
  const { server, serverUrl, oauth, redirect } = request;
  if (typeof redirect === 'string') return redirect;
  const port = oauth?.callbackPort;
  const opened = await redirect({ host, ...(port !== undefined && { port }) });
  if (opened !== undefined) return opened;
  throw authRefused({
    ...{ server, url: serverUrl },
    defect: `needs the callback port ${port ?? '(any)'} of this machine, and another program uses it`,
    fix: `End the program that listens on port ${port ?? '(any)'}, or change \`oauth.callbackPort\`.`,
  });
}

/** Uses the newest registration that is certain to exist, with its port; else registers anew. */
async function chooseRegistration(parts: AuthParts, request: ClientRequest): Promise<ChosenClient> {
  const { as, server } = request;
  const [registration] = await usableRegistrations(parts, request);
  if (registration && (await reopened(request, registration)) === registration.redirectUri) {
    await parts.clients.put({ ...registration, unansweredSince: registration.unansweredSince ?? parts.clock() });
    return { client: registeredClient(as, registration), redirectUri: registration.redirectUri };
  }
  if (as.metadata.registration_endpoint === undefined) {
    throw authRefused({
      ...{ server, url: as.issuer },
      defect: 'registers no clients by itself',
      fix: 'Register Heddle with the authorization server by hand, then set `oauth.clientId` of the entry.',
    });
  }
  const redirectUri = await redirectOf(request, '127.0.0.1');
  return { client: registeredClient(as, await register(parts, request, redirectUri)), redirectUri };
}

/** Opens the listener at the address of a registration; undefined if its port is taken. */
async function reopened({ redirect }: ClientRequest, { redirectUri }: ClientRegistration): Promise<string | undefined> {
  if (typeof redirect === 'string') return redirect;
  return redirect({ host: '127.0.0.1', port: Number(new URL(redirectUri).port) });
}

/** Returns the registrations that fit the redirect and are neither expired nor doubtful, the newest first. */
async function usableRegistrations(
  { clients, signIns, clock }: AuthParts,
  { as, serverUrl, principal, oauth, redirect }: ClientRequest,
): Promise<readonly ClientRegistration[]> {
  const pending = await signIns.pending(serverUrl, principal);
  const now = clock();
  const fits = ({ redirectUri }: ClientRegistration) => {
    if (typeof redirect === 'string') return redirectUri === redirect;
    if (!isLoopbackUrl(redirectUri)) return false;
    return oauth?.callbackPort === undefined || new URL(redirectUri).port === String(oauth.callbackPort);
  };
  // A client that the server has purged fails only in the browser: the last sign-in then gets no callback.
  const isDoubtful = ({ clientId, unansweredSince }: ClientRegistration) =>
    unansweredSince !== undefined &&
    (now - unansweredSince > SIGN_IN_TTL_MS || pending.some((other) => other.clientId === clientId));
  const isExpired = ({ secretExpiresAt }: ClientRegistration) =>
    secretExpiresAt !== undefined && secretExpiresAt <= now;
  const found = await clients.find(as.issuer);
  return found.filter((one) => fits(one) && !isDoubtful(one) && !isExpired(one));
}

async function register(parts: AuthParts, request: ClientRequest, redirectUri: string): Promise<ClientRegistration> {
  const { server, as, signal } = request;
  const supported = supportedMethods(as.metadata);
  const methods = ['none', 'client_secret_basic', 'client_secret_post'];
  const metadata: JsonObject = {
    client_name: 'Heddle',
    redirect_uris: [redirectUri],
    application_type: isLoopbackUrl(redirectUri) ? 'native' : 'web',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: methods.find((method) => supported.includes(method)) ?? 'none',
  };
  const response = await registerClient(parts, { server, as, metadata, signal });
  const { client_id: clientId, client_secret, client_secret_expires_at } = response;
  const registration: ClientRegistration = {
    ...{ issuer: as.issuer, redirectUri, clientId, metadata: response, unansweredSince: parts.clock() },
    ...(typeof client_secret === 'string' && client_secret !== '' && { clientSecret: client_secret }),
    // 0 means never.
    ...(typeof client_secret_expires_at === 'number' &&
      client_secret_expires_at > 0 && { secretExpiresAt: client_secret_expires_at * 1000 }),
  };
  await parts.clients.put(registration);
  return registration;
}

const REGISTERED_METHODS: readonly unknown[] = [
  'client_secret_basic',
  'client_secret_post',
] satisfies ClientAuthMethod[];

/** Returns the client of a registration. It authenticates as the authorization server said in its response. */
function registeredClient(
  as: AuthorizationServer,
  { clientId, clientSecret, metadata }: ClientRegistration,
): OAuthClient {
  const named = metadata.token_endpoint_auth_method;
  if (clientSecret === undefined || named === 'none') return { kind: 'registered', clientId, authMethod: 'none' };
  const authMethod = REGISTERED_METHODS.includes(named)
    ? (named as ClientAuthMethod)
    : authMethodOf(as, { clientSecret });
  return { kind: 'registered', clientId, clientSecret, authMethod };
}
