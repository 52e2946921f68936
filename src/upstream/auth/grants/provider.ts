import type { Settings } from '../../../config/schema/schema.ts';
import type { JsonObject } from '../../../core/call.ts';
import type { AuthorizationServer, AuthParts } from '../auth-parts.ts';
import { authRefused } from '../auth-refused.ts';
import { fetchDocument } from '../authorization-metadata.ts';
import { findIssuer } from '../discovery.ts';

/** The setting `xaa`: the identity provider of cross-app access. */
export type XaaSettings = NonNullable<Settings['xaa']>;

interface ProviderRequest {
  /** The name of the server that the provider is needed for, for messages. */
  readonly server: string;
  readonly signal?: AbortSignal | undefined;
}

/** Reads the metadata of the identity provider. */
export const findProvider = (
  parts: AuthParts,
  { issuer }: XaaSettings,
  request: ProviderRequest,
): Promise<AuthorizationServer> => findIssuer(parts, { ...request, issuer });

/** Fetches the keys that the identity provider signs ID tokens with. */
export async function providerKeys(
  parts: AuthParts,
  { issuer, metadata, written, document }: AuthorizationServer,
  request: ProviderRequest,
): Promise<JsonObject> {
  const { server } = request;
  const { jwks_uri: url } = metadata;
  if (typeof url !== 'string') throw authRefused({ server, url: issuer, defect: 'names no jwks_uri' });
  const keys = await fetchDocument(parts, { ...request, url, source: { written, document } });
  if (!keys || !Array.isArray(keys.json.keys)) throw authRefused({ server, url, defect: 'has no JWK set' });
  return keys.json;
}
