import { HeddleError } from '../../../core/errors.ts';
import type { AuthParts } from '../auth-parts.ts';
import type { Credential } from '../credential.ts';
import type { CredentialRequest } from '../credential-request.ts';
import { configuredClient } from './configured-client.ts';
import { machineCredential } from './machine-credential.ts';

/** Opens the credential of the grant `client_credentials` (RFC 6749, section 4.4). */
export function clientCredentials(request: CredentialRequest, parts: AuthParts): Credential {
  const { server, entry } = request;
  const { clientId, clientSecret, privateKey } = entry.oauth ?? {};
  if (clientId === undefined || (!clientSecret && !privateKey)) throw incomplete(server);
  return machineCredential({
    parts,
    request,
    clientId,
    fix: 'Check what the authorization server allows `oauth.clientId` to do.',
    prepare: async ({ discovered }) => ({
      client: configuredClient({ clientId, clientSecret, privateKey }, discovered.as),
      parameters: { grant_type: 'client_credentials' },
    }),
  });
}

const incomplete = (server: string) =>
  new HeddleError('CONFIG_INVALID', `The grant client_credentials of ${server} needs a client that can prove itself.`, {
    fix: 'Set `oauth.clientId`, and `oauth.clientSecret` or `oauth.privateKey`.',
  });
