import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JsonObject } from '../../src/core/call.ts';

/** The faults of an authorization server. Tests set and delete them at any time; without any it works. */
export interface AuthorizationServerFaults {
  /** Closes every connection without a response. */
  down?: boolean;
  /** The metadata is 2 MB, nested 1,000 deep or no JSON. */
  metadata?: 'huge' | 'deep' | 'not-json';
  /** The metadata endpoint answers with a redirect to this URL. */
  metadataRedirect?: string;
  /** The status of every metadata response. */
  metadataStatus?: number;
  /** Replaces fields of the metadata; `null` removes one. */
  metadataFields?: JsonObject;
  /** Replaces `iss` in the authorization response; `null` removes it. */
  iss?: string | null;
  /** Replaces `state` in the authorization response; `null` removes it. */
  state?: string | null;
  /** Answers authorization requests at once with this error. */
  authorizeError?: { readonly error: string; readonly error_description?: string };
  /** The token endpoint never answers, or sends one byte and no more, or closes the connection after the request. */
  token?: 'silent' | 'dripping' | 'dropped';
  /** The status of the next token responses, in order, without a call of the provider: 500, 429 … */
  tokenStatuses?: number[];
  /** Answers token requests with this OAuth error and status 400, or 401 for `invalid_client`. */
  tokenError?: { readonly error: string; readonly error_description?: string };
  /** Replaces fields of successful token responses; `null` removes one. */
  tokenFields?: JsonObject;
  /** The registration endpoint refuses, never answers, or answers 500. */
  registration?: 'refused' | 'silent' | 'broken';
  /** The revocation endpoint answers 500. */
  revocation?: 'broken';
}

export type EndpointName = 'metadata' | 'jwks' | 'authorize' | 'token' | 'registration' | 'revocation' | 'other';

/** Answers a request with a fault. Returns false if the provider should answer it. */
export function answerWithFault(
  faults: AuthorizationServerFaults,
  endpoint: EndpointName,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
): boolean {
  if (faults.down) {
    request.socket.destroy();
    return true;
  }
  switch (endpoint) {
    case 'metadata':
      return brokenMetadata(faults, response);
    case 'token':
      return brokenToken(faults, request, response);
    case 'registration':
      return brokenRegistration(faults, response);
    case 'revocation':
      if (faults.revocation) sendJson(response, 500, { error: 'server_error' });
      return faults.revocation !== undefined;
    default:
      return false;
  }
}

function brokenMetadata(faults: AuthorizationServerFaults, response: ServerResponse): boolean {
  if (faults.metadataStatus !== undefined) sendJson(response, faults.metadataStatus, {});
  else if (faults.metadataRedirect) response.writeHead(302, { location: faults.metadataRedirect }).end();
  else if (faults.metadata === 'huge') sendJson(response, 200, { issuer: 'x'.repeat(2_000_000) });
  else if (faults.metadata === 'deep') sendText(response, `${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}`);
  else if (faults.metadata === 'not-json') sendText(response, '<!doctype html><title>Hello</title>');
  else return false;
  return true;
}

function brokenToken(faults: AuthorizationServerFaults, request: IncomingMessage, response: ServerResponse): boolean {
  const status = faults.tokenStatuses?.shift();
  if (faults.token === 'silent') return true;
  if (faults.token === 'dropped') request.socket.destroy();
  else if (faults.token === 'dripping') response.writeHead(200, { 'content-type': 'application/json' }).write('{');
  else if (status !== undefined) sendJson(response, status, { error: 'server_error' });
  else if (faults.tokenError) {
    sendJson(response, faults.tokenError.error === 'invalid_client' ? 401 : 400, { ...faults.tokenError });
  } else return false;
  return true;
}

function brokenRegistration({ registration }: AuthorizationServerFaults, response: ServerResponse): boolean {
  if (registration === 'refused') {
    sendJson(response, 403, { error: 'access_denied', error_description: 'Registration is closed.' });
  } else if (registration === 'broken') sendJson(response, 500, { error: 'server_error' });
  return registration !== undefined;
}

/** Applies the faults to the response of the provider, before it is sent. */
export function changeResponse(
  faults: AuthorizationServerFaults,
  endpoint: EndpointName,
  response: ServerResponse,
): void {
  if (endpoint === 'metadata') changeJson(response, () => faults.metadataFields);
  if (endpoint === 'token') changeJson(response, () => faults.tokenFields);
  if (endpoint === 'authorize') changeRedirect(response, faults);
}

function changeJson(response: ServerResponse, fields: () => JsonObject | undefined): void {
  const end = response.end.bind(response) as (body?: unknown) => ServerResponse;
  response.end = ((body?: unknown) => {
    const changed = fields();
    if (!changed || response.statusCode !== 200 || body === undefined) return end(body);
    const text = JSON.stringify(withFields(JSON.parse(String(body)) as JsonObject, changed));
    response.setHeader('content-length', Buffer.byteLength(text));
    return end(text);
  }) as ServerResponse['end'];
}

const withFields = (body: JsonObject, fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries({ ...body, ...fields }).filter(([, value]) => value !== null));

function changeRedirect(response: ServerResponse, faults: AuthorizationServerFaults): void {
  const end = response.end.bind(response) as (body?: unknown) => ServerResponse;
  response.end = ((body?: unknown) => {
    const location = response.getHeader('location');
    if (typeof location === 'string' && /[?&](code|error)=/.test(location)) {
      response.setHeader('location', changedRedirect(new URL(location), faults).href);
    }
    return end(body);
  }) as ServerResponse['end'];
}

function changedRedirect(url: URL, faults: AuthorizationServerFaults): URL {
  for (const name of ['iss', 'state'] as const) {
    const value = faults[name];
    if (value === null) url.searchParams.delete(name);
    else if (value !== undefined) url.searchParams.set(name, value);
  }
  if (faults.authorizeError) {
    url.searchParams.delete('code');
    for (const [name, value] of Object.entries(faults.authorizeError)) url.searchParams.set(name, value);
  }
  return url;
}

export function sendJson(response: ServerResponse, status: number, body: JsonObject): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendText(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(text);
}
