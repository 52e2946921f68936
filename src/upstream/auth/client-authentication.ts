import type { AuthorizationServer, ClientAuthMethod, OAuthClient } from './auth-parts.ts';

/** Chooses the method for credentials that the configuration holds, among those of the authorization server. */
export function authMethodOf(
  { metadata }: AuthorizationServer,
  { clientSecret, privateKey }: Pick<OAuthClient, 'clientSecret' | 'privateKey'>,
): ClientAuthMethod {
  if (privateKey !== undefined) return 'private_key_jwt';
  if (clientSecret === undefined) return 'none';
  const supported = supportedMethods(metadata);
  return supported.includes('client_secret_post') && !supported.includes('client_secret_basic')
    ? 'client_secret_post'
    : 'client_secret_basic';
}

/** Returns `token_endpoint_auth_methods_supported`; empty if the metadata does not name any. */
export function supportedMethods(metadata: AuthorizationServer['metadata']): readonly unknown[] {
  const named = metadata.token_endpoint_auth_methods_supported;
  return Array.isArray(named) ? named : [];
}

/**
 * Returns the `Authorization` header of `client_secret_basic`. Encodes as a form, but leaves `-`, `.`, `_` and `*` as they
 * are: `oauth4webapi` escapes them too, and servers that do not decode the credentials then refuse most client ids.
 */
export function basicCredentials({ clientId, clientSecret = '' }: OAuthClient): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`;
}
