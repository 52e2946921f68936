import type { JsonObject } from '../../core/call.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { type AddressSource, isLoopbackUrl, type NamingDocument } from '../../egress/address-source.ts';
import type { AuthorizationServer, AuthParts } from './auth-parts.ts';
import { authFetch, authRefused, quoteRemote } from './auth-refused.ts';

/** A JSON document and where it came from. */
export interface FetchedDocument extends NamingDocument {
  readonly json: JsonObject;
}

export interface DocumentRequest {
  /** The name of the entry, for messages. */
  readonly server: string;
  readonly url: string;
  readonly source: AddressSource;
  readonly signal?: AbortSignal | undefined;
  /** True takes every 4xx for absence, not only 404. */
  readonly isOptional?: boolean;
}

export type MetadataRequest = Omit<DocumentRequest, 'url'> & {
  /** The expected issuer, byte for byte. */
  readonly issuer: string;
};

const MAX_DEPTH = 32;

/** Fetches a JSON document; undefined if it is absent. Throws AUTH_REFUSED for other statuses and for what is not JSON. */
export async function fetchDocument(
  parts: Pick<AuthParts, 'fetch'>,
  { server, url, source, signal, isOptional = false }: DocumentRequest,
): Promise<FetchedDocument | undefined> {
  checkAddress(server, url, source);
  const headers = { accept: 'application/json' };
  const response = await authFetch(parts, { server, url, source, headers, ...(signal && { signal }) });
  const { status, body, kind } = response;
  if (status === 404 || (isOptional && status >= 400)) return undefined;
  if (status !== 200) throw authRefused({ server, url, defect: `answers with status ${status}` });
  return { url: response.url, kind, json: parsedObject(server, url, body) };
}

/** Rejects an address that is neither https nor loopback, before anything is resolved. */
function checkAddress(server: string, url: string, { written }: AddressSource): void {
  const scheme = URL.canParse(url) ? new URL(url).protocol : undefined;
  if (scheme === undefined) throw authRefused({ server, url, defect: 'is not a URL' });
  if (scheme === 'https:' || (scheme === 'http:' && isLoopbackUrl(url) && isLoopbackUrl(written))) return;
  throw authRefused({ server, url, defect: 'is not https', fix: 'Use an https address.' });
}

function parsedObject(server: string, url: string, body: Buffer): JsonObject {
  let json: unknown;
  try {
    json = parseJson(body.toString('utf8'), { maxDepth: MAX_DEPTH });
  } catch (thrown) {
    const reason = thrown instanceof Error ? quoteRemote(thrown.message) : 'it cannot be parsed';
    throw authRefused({ server, url, defect: `answers with a document that cannot be used: ${reason}` });
  }
  if (isObject(json)) return json;
  throw authRefused({ server, url, defect: 'answers with JSON that is not an object' });
}

/** Returns the addresses of an issuer's metadata: RFC 8414, then OpenID Connect with the path inserted and appended. */
export function metadataAddresses({ server, issuer }: Pick<MetadataRequest, 'server' | 'issuer'>): readonly string[] {
  if (!URL.canParse(issuer)) throw authRefused({ server, url: issuer, defect: 'is not a URL' });
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const addresses = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  return [...new Set(addresses)];
}

const ENDPOINTS = [
  'authorization_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'revocation_endpoint',
  'jwks_uri',
];

/**
 * Checks the metadata of an authorization server: `issuer` is compared as text, because URLs that differ as text may be
 * equal as URLs, and every endpoint has to be https, or loopback if the configured URL is.
 */
export function checkMetadata(
  { server, issuer, source }: MetadataRequest,
  { url, kind, json }: FetchedDocument,
): AuthorizationServer {
  const defective = (defect: string) => authRefused({ server, url, defect });
  if (issuer === '' || json.issuer !== issuer) {
    const named = typeof json.issuer === 'string' ? quoteRemote(json.issuer) : 'no issuer';
    throw defective(`is metadata of ${named}, not of ${quoteRemote(issuer)}`);
  }
  for (const name of ENDPOINTS) {
    const endpoint = json[name];
    if (endpoint === undefined) continue;
    const defect = endpointDefect(endpoint, source.written);
    if (defect) throw defective(`names a ${name} that ${defect}`);
  }
  return { issuer, metadata: json, written: source.written, document: { url, kind } };
}

function endpointDefect(endpoint: unknown, written: string): string | undefined {
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint)) return 'is not a URL';
  const { protocol, username, password, hash } = new URL(endpoint);
  if (username !== '' || password !== '' || hash !== '') return 'has a password or a fragment';
  if (protocol === 'https:' || (protocol === 'http:' && isLoopbackUrl(endpoint) && isLoopbackUrl(written)))
    return undefined;
  return `is not https: ${quoteRemote(endpoint)}`;
}
