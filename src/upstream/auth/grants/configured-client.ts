import type { AuthorizationServer, OAuthClient } from '../auth-parts.ts';
import { authMethodOf } from '../client-authentication.ts';

/** The client of `oauth` in an entry, or of the setting `xaa`. */
interface ClientSettings {
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly privateKey?: string | undefined;
}

/** Returns a configured client with the authentication method that an authorization server supports. */
export function configuredClient(
  { clientId, clientSecret, privateKey }: ClientSettings,
  as: AuthorizationServer,
): OAuthClient {
  const credentials = {
    ...(clientSecret !== undefined && { clientSecret }),
    ...(privateKey !== undefined && { privateKey }),
  };
  return { kind: 'configured', clientId, ...credentials, authMethod: authMethodOf(as, credentials) };
}
