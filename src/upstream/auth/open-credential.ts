import type { RemoteEntry } from '../../config/schema/schema.ts';
import type { AuthParts } from './auth-parts.ts';
import type { Credential } from './credential.ts';
import type { CredentialRequest } from './credential-request.ts';

type Open = (request: CredentialRequest, parts: AuthParts) => Credential;

// Loaded by kind: most configurations use one.
const KINDS = {
  authorization_code: async () => (await import('./grants/authorization-code.ts')).authorizationCodeCredential,
  client_credentials: async () => (await import('./grants/client-credentials.ts')).clientCredentials,
  jwt_bearer: async () => (await import('./grants/jwt-bearer.ts')).jwtBearer,
  cross_app_access: async () => (await import('./grants/cross-app-access.ts')).crossAppAccess,
} satisfies Record<string, () => Promise<Open>>;

/** Opens the OAuth credential of an entry. The entry has neither a headers helper nor an `Authorization` header. */
export async function openCredential(request: CredentialRequest, parts: AuthParts): Promise<Credential> {
  const open = await KINDS[kindOf(request.entry)]();
  return open(request, parts);
}

function kindOf({ oauth }: RemoteEntry): keyof typeof KINDS {
  return oauth?.xaa ? 'cross_app_access' : (oauth?.grant ?? 'authorization_code');
}
