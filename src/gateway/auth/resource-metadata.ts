import type { Settings } from '../../config/schema/schema.ts';
import type { JsonObject } from '../../core/call.ts';
import type { RequestHead } from '../http-request.ts';

/** How `gateway.auth` names the issuers it accepts. */
export type TokenSettings = Exclude<Settings['gateway']['auth'], 'none' | undefined>;

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** Whether a path asks who issues the tokens for an endpoint of ours. */
export const isMetadataPath = (path: string): boolean =>
  path.startsWith(WELL_KNOWN) && /^(\/mcp(\/[A-Za-z0-9_-]{1,64})?)?$/.test(path.slice(WELL_KNOWN.length));

/** Who issues tokens for this gateway, and what they may be asked for (RFC 9728). */
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

/** Where the client that was refused at an endpoint finds that out. */
export const metadataUrl = (request: RequestHead, endpoint: string, auth: TokenSettings): string =>
  `${originOf(request, auth)}${WELL_KNOWN}${endpoint}`;

export const issuersOf = ({ issuer }: TokenSettings): readonly string[] => [issuer].flat();

/** As the client sees us. The host has been checked; that there is TLS before us only the audience can tell. */
function originOf({ headers: { host = '' } }: RequestHead, { audience }: TokenSettings): string {
  const url = addressIn(audience);
  return url?.host === host.toLowerCase() ? url.origin : `http://${host}`;
}

const addressIn = (audience: string): URL | undefined =>
  /^https?:/.test(audience) ? (URL.parse(audience) ?? undefined) : undefined;
