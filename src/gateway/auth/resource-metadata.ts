import type { Settings } from '../../config/schema/schema.ts';
import type { JsonObject } from '../../core/call.ts';
import type { RequestHead } from '../http-request.ts';

/** The part of `gateway.auth` that configures accepted JWTs. */
export type TokenSettings = Exclude<Settings['gateway']['auth'], 'none' | undefined>;

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** Tells whether a path is the metadata URL of an MCP endpoint. */
export const isMetadataPath = (path: string): boolean =>
  path.startsWith(WELL_KNOWN) && /^(\/mcp(\/[A-Za-z0-9_-]{1,64})?)?$/.test(path.slice(WELL_KNOWN.length));

/** Returns the protected resource metadata: authorization servers and scopes (RFC 9728). */
export function resourceMetadata(request: RequestHead, auth: TokenSettings): JsonObject {
  const { audience, scopes } = auth;
  const supported = Object.keys(scopes);
  return {
    resource: addressIn(audience) ? audience : `${originOf(request, auth)}/mcp`,
    authorization_servers: issuersOf(auth),
    bearer_methods_supported: ['header'],
    ...(supported.length > 0 && { scopes_supported: supported }),
    resource_name: 'Heddle',
  };
}

/** Returns the metadata URL for the `WWW-Authenticate` header of a refused request. */
export const metadataUrl = (request: RequestHead, endpoint: string, auth: TokenSettings): string =>
  `${originOf(request, auth)}${WELL_KNOWN}${endpoint}`;

export const issuersOf = ({ issuer }: TokenSettings): readonly string[] => [issuer].flat();

/** Returns the gateway's origin as the client sees it. Only the audience can tell that a proxy terminates TLS. */
function originOf({ headers: { host = '' } }: RequestHead, { audience }: TokenSettings): string {
  const url = addressIn(audience);
  return url?.host === host.toLowerCase() ? url.origin : `http://${host}`;
}

const addressIn = (audience: string): URL | undefined =>
  /^https?:/.test(audience) ? (URL.parse(audience) ?? undefined) : undefined;
