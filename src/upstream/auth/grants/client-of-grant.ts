import type { ClientRegistration } from '../../../store/client-book.ts';
import type { AuthorizationServer, AuthParts, ClientAuthMethod, OAuthClient, OAuthSettings } from '../auth-parts.ts';
import { authMethodOf } from '../client-authentication.ts';

interface ClientQuery {
  readonly as: AuthorizationServer;
  readonly oauth?: OAuthSettings | undefined;
  /** The client id of the grant. */
  readonly clientId: string;
}

const METHODS: ReadonlySet<unknown> = new Set(['none', 'client_secret_basic', 'client_secret_post']);

/** Returns the client that tokens were issued to, with its secret; undefined if its registration is gone. */
export async function clientOfGrant(
  { clients }: Pick<AuthParts, 'clients'>,
  { as, oauth, clientId }: ClientQuery,
): Promise<OAuthClient | undefined> {
  const { clientSecret, privateKey } = oauth ?? {};
  const credentials = { ...(clientSecret && { clientSecret }), ...(privateKey && { privateKey }) };
  const authMethod = authMethodOf(as, credentials);
  if (oauth?.clientId === clientId) return { kind: 'configured', clientId, ...credentials, authMethod };
  const registration = (await clients.find(as.issuer)).find((one) => one.clientId === clientId);
  if (registration) return registeredClient(registration);
  if (!URL.canParse(clientId)) return undefined;
  return { kind: 'metadata-document', clientId, authMethod: 'none' };
}

function registeredClient({ clientId, clientSecret, metadata }: ClientRegistration): OAuthClient {
  const named = metadata.token_endpoint_auth_method;
  const implied = clientSecret === undefined ? 'none' : 'client_secret_basic';
  const authMethod = METHODS.has(named) ? (named as ClientAuthMethod) : implied;
  return { kind: 'registered', clientId, ...(clientSecret !== undefined && { clientSecret }), authMethod };
}
