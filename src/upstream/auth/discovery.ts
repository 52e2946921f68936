import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isLoopbackUrl, type NamingDocument } from '../../egress/address-source.ts';
import type { AuthorizationServer, AuthParts, Discovered, ProtectedServer } from './auth-parts.ts';
import { authRefused, quoteRemote } from './auth-refused.ts';
import {
  checkMetadata,
  type FetchedDocument,
  fetchDocument,
  type MetadataRequest,
  metadataAddresses,
} from './authorization-metadata.ts';
import { MAX_SCOPES } from './challenge.ts';
import type { Challenge } from './credential.ts';

export interface DiscoveryRequest extends ProtectedServer {
  /** The challenge of the server's refusal. Its `resource_metadata` comes first. */
  readonly challenge?: Challenge | undefined;
  /** The `resource_metadata` of a remembered refusal. */
  readonly metadataUrl?: string | undefined;
  /** The issuer of the tokens to renew. If the metadata names it, no other one is tried. */
  readonly knownIssuer?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

type DiscoveryParts = Pick<AuthParts, 'fetch'>;

const MAX_SERVERS = 10;
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;

/**
 * Finds the authorization server of a protected server by its metadata (RFC 9728), else by the rules of MCP 2025-03-26.
 * Throws AUTH_REFUSED for metadata that must not be used, and UPSTREAM_UNREACHABLE if it cannot be read now.
 */
export async function discover(parts: DiscoveryParts, request: DiscoveryRequest): Promise<Discovered> {
  requireEncryption(request);
  const found = await findResourceMetadata(parts, request);
  if (!found) return discoverLegacy(parts, request);
  const resource = coveringResource(request, found);
  const scopes = found.json.scopes_supported;
  return {
    resource,
    resourceParameter: resource,
    ...(Array.isArray(scopes) && { scopesSupported: scopes.filter(isScope).slice(0, MAX_SCOPES) }),
    requiresDpop:
      found.json.dpop_bound_access_tokens_required === true ||
      found.json.dpop_signing_alg_values_supported !== undefined,
    as: await findAuthorizationServer(parts, request, found),
    metadataUrl: found.url,
  };
}

/** Requires https, or an address of this machine: tokens would be readable on the way. */
function requireEncryption({ server, serverUrl }: ProtectedServer): void {
  if (httpUrl(serverUrl).protocol === 'https:' || isLoopbackUrl(serverUrl)) return;
  const defect = 'is not encrypted, so its tokens could be read on the way';
  throw authRefused({ server, url: serverUrl, defect, fix: 'Use the https address of the server.' });
}

const isScope = (value: unknown): value is string => typeof value === 'string' && SCOPE.test(value);

/** Returns the URL of a server for its metadata: WebSocket schemes become those of HTTP. */
const httpUrl = (serverUrl: string): URL => new URL(serverUrl.replace(/^ws/i, 'http'));

/** Reads the protected-resource metadata; undefined if every address answers 404. */
async function findResourceMetadata(
  parts: DiscoveryParts,
  request: DiscoveryRequest,
): Promise<FetchedDocument | undefined> {
  const { server, serverUrl, challenge, signal } = request;
  const { origin, pathname } = httpUrl(serverUrl);
  const named = challenge?.params.resource_metadata ?? request.metadataUrl;
  const path = pathname.replace(/\/$/, '');
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`;
  if (named !== undefined) {
    // The network of the server is unknown here, so only its own host may be private.
    const document: NamingDocument = { url: httpUrl(serverUrl).href, kind: 'public' };
    const found = await fetchDocument(parts, { server, url: named, source: { written: serverUrl, document }, signal });
    if (found) return found;
  }
  for (const url of new Set([`${wellKnown}${path}`, wellKnown])) {
    const found =
      url === named ? undefined : await fetchDocument(parts, { server, url, source: { written: serverUrl }, signal });
    if (found) return found;
  }
  return undefined;
}

/** Returns `resource` byte for byte, if it covers the server's URL. A token for another resource is not for this server. */
function coveringResource({ server, serverUrl }: ProtectedServer, { url, json }: FetchedDocument): string {
  const { resource } = json;
  if (typeof resource !== 'string' || !URL.canParse(resource)) {
    throw authRefused({ server, url, defect: 'names no valid `resource`' });
  }
  if (resource.includes('#') || !covers(httpUrl(resource), httpUrl(serverUrl))) {
    const defect = `is about the resource ${quoteRemote(resource)}, which does not cover ${serverUrl}`;
    throw authRefused({
      server,
      url,
      defect,
      fix: 'Compare the `url` of the entry with the documentation of the server.',
    });
  }
  return resource;
}

function covers(resource: URL, server: URL): boolean {
  const folder = resource.pathname.replace(/\/?$/, '/');
  const isQueryEqual = resource.search === '' || resource.search === server.search;
  return resource.origin === server.origin && isQueryEqual && server.pathname.replace(/\/?$/, '/').startsWith(folder);
}

/** Returns the first authorization server that answers and that `oauth.issuer` allows. */
async function findAuthorizationServer(
  parts: DiscoveryParts,
  request: DiscoveryRequest,
  { url, kind, json }: FetchedDocument,
): Promise<AuthorizationServer> {
  const { server, serverUrl, oauth } = request;
  const named = (Array.isArray(json.authorization_servers) ? json.authorization_servers : [])
    .filter((issuer) => typeof issuer === 'string')
    .slice(0, MAX_SERVERS);
  if (oauth?.authServerMetadataUrl !== undefined) return readConfiguredMetadata(parts, request);
  if (named.length === 0 && oauth?.issuer !== undefined) return findIssuer(parts, { ...request, issuer: oauth.issuer });
  const only = oauth?.issuer ?? named.find((issuer) => issuer === request.knownIssuer);
  const allowed = named.filter((issuer) => only === undefined || issuer === only);
  if (named.length === 0) throw authRefused({ server, url, defect: 'names no authorization server' });
  if (allowed.length === 0) {
    const defect = `names ${quoteRemote(named.join(', '))}, and \`oauth.issuer\` allows only ${oauth?.issuer}`;
    throw authRefused({ server, url, defect, fix: 'Check which one is right before you change `oauth.issuer`.' });
  }
  let failure: unknown;
  for (const issuer of allowed) {
    try {
      if (issuer === oauth?.issuer) return await findIssuer(parts, { ...request, issuer });
      const source = { written: serverUrl, document: { url, kind } };
      return await readMetadata(parts, { server, issuer, source, signal: request.signal });
    } catch (thrown) {
      if (!isSilence(thrown)) throw thrown;
      failure ??= thrown;
    }
  }
  throw failure;
}

const isSilence = (thrown: unknown) =>
  HeddleError.is(thrown) && (thrown.code === 'UPSTREAM_UNREACHABLE' || thrown.code === 'UPSTREAM_TIMEOUT');

/** Reads the metadata of an issuer that the configuration names. */
export function findIssuer(
  parts: DiscoveryParts,
  { server, issuer, signal }: Pick<DiscoveryRequest, 'server' | 'signal'> & { readonly issuer: string },
): Promise<AuthorizationServer> {
  return readMetadata(parts, { server, issuer, source: { written: issuer }, signal });
}

/** Reads the metadata of an issuer: RFC 8414 first, then OpenID Connect. Its `issuer` must be equal byte for byte. */
async function readMetadata(parts: DiscoveryParts, request: MetadataRequest): Promise<AuthorizationServer> {
  const { server, issuer } = request;
  for (const url of metadataAddresses(request)) {
    const found = await fetchDocument(parts, { ...request, url, isOptional: true });
    if (found) return checkMetadata(request, found);
  }
  throw authRefused({ server, url: issuer, defect: 'has no authorization server metadata' });
}

/** Reads the metadata at `oauth.authServerMetadataUrl`. The document names its issuer. */
async function readConfiguredMetadata(
  parts: DiscoveryParts,
  { server, oauth, signal }: DiscoveryRequest,
): Promise<AuthorizationServer> {
  const url = oauth?.authServerMetadataUrl ?? '';
  const source = { written: url };
  const found = await fetchDocument(parts, { server, url, source, signal });
  if (!found) throw authRefused({ server, url, defect: 'answers with status 404' });
  const issuer = oauth?.issuer ?? (typeof found.json.issuer === 'string' ? found.json.issuer : '');
  return checkMetadata({ server, issuer, source, signal }, found);
}

/** Applies MCP 2025-03-26 to a server without resource metadata: its origin is the authorization server. */
async function discoverLegacy(parts: DiscoveryParts, request: DiscoveryRequest): Promise<Discovered> {
  const { server, serverUrl, oauth, signal } = request;
  const { origin, href } = httpUrl(serverUrl);
  const resource = serverUrl.startsWith('ws') ? href : serverUrl;
  const base = { resource, requiresDpop: false };
  if (oauth?.authServerMetadataUrl !== undefined) return { ...base, as: await readConfiguredMetadata(parts, request) };
  if (oauth?.issuer !== undefined)
    return { ...base, as: await findIssuer(parts, { server, issuer: oauth.issuer, signal }) };
  const source = { written: serverUrl };
  const found = await fetchDocument(parts, {
    ...{ server, source, signal },
    url: `${origin}/.well-known/oauth-authorization-server`,
  });
  if (!found) return { ...base, as: defaultEndpoints(origin, serverUrl) };
  // No document wrote the issuer down, so both texts of the origin are right.
  const issuer = found.json.issuer === `${origin}/` ? `${origin}/` : origin;
  return { ...base, as: checkMetadata({ server, issuer, source, signal }, found) };
}

/** The endpoints of MCP 2025-03-26 without any metadata. That version requires PKCE with S256. */
function defaultEndpoints(origin: string, written: string): AuthorizationServer {
  const metadata: JsonObject = {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ['S256'],
  };
  return { issuer: origin, metadata, written, document: { url: origin, kind: 'public' } };
}
