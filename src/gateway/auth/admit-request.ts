import type { Caller, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { addressKind } from '../../egress/address-kind.ts';
import type { Access } from '../../heddle.ts';
import type { AuthenticatedCaller, RequestHead } from '../http-request.ts';
import type { JsonResponse } from '../response-writer.ts';
import { type ProfileRoute, profileAdmitter, profileRouteOf } from './admit-to-profile.ts';
import type { Authenticate, Authentication, AuthRefusal } from './authenticate.ts';
import { challengeOf } from './bearer.ts';
import { checkOwnOrigin, type HostRules, hostChecker } from './check-host.ts';
import { challengeIn } from './gateway-proof.ts';
import { isMetadataPath, metadataUrl, resourceMetadata, type TokenSettings } from './resource-metadata.ts';

export interface AdmitOptions extends HostRules {
  readonly heddle: { readonly access: Pick<Access, 'settings'> };
  readonly authenticate: Authenticate;
  /** The address that the gateway listens on. */
  readonly host: string;
  /** Computes the proof for a challenge at `/healthz`. Local commands use it to recognise this gateway. */
  readonly prove?: ((challenge: string) => string) | undefined;
  /** The profile that `/mcp` itself serves; all servers if absent. */
  readonly profile?: string | undefined;
  /** Tests whether a path is a sign-in page. */
  readonly isSignInPath?: ((path: string) => boolean) | undefined;
}

/** The outcome of admission: a caller for one endpoint, or the response to send instead. */
export type Admission =
  | ({ readonly endpoint: 'mcp' } & AuthenticatedCaller)
  | { readonly endpoint: 'api'; readonly caller: Caller }
  /** A sign-in page, which identifies the person itself. */
  | { readonly endpoint: 'sign-in' }
  | { readonly endpoint: 'none'; readonly response: JsonResponse };

/** Admits or refuses one request. Returns a promise only if the credential has to be looked up. */
export type AdmitRequest = (request: RequestHead) => Admission | Promise<Admission>;

interface PendingRequest {
  readonly request: RequestHead;
  readonly path: string;
  readonly route: ProfileRoute | undefined;
}

const SEND_TOKEN = 'Send the token that `heddle up` printed, or a key, as `Authorization: Bearer …`.';
const INVALID_CREDENTIAL = `The credential is unknown, revoked or expired. ${SEND_TOKEN}`;

/**
 * Returns the check that every request passes: host, origin, credential, profile. Throws CONFIG_INVALID if the gateway
 * would serve other machines without a credential.
 */
export function requestAdmitter(options: AdmitOptions): AdmitRequest {
  const { host, authenticate } = options;
  const { settings } = options.heddle.access;
  const isLocal = host === 'localhost' || addressKind(host) === 'loopback';
  if (!isLocal) refuseOpenGateway(host, settings());
  const checkHost = hostChecker({ ...options, publicAddress: () => settings().gateway.publicUrl });
  const admitToProfile = profileAdmitter({ settings, authenticate, isLocal });

  function toAdmission(found: Authentication | 'unknown', pending: PendingRequest): Admission {
    const { request, path, route } = pending;
    if (!found) {
      const message = request.headers.authorization ? INVALID_CREDENTIAL : SEND_TOKEN;
      return refuse({ status: 401, message }, pending, settings());
    }
    if (found === 'unknown') return respondWith(404, 'There is no such profile.');
    if ('status' in found) return refuse(found, pending, settings());
    if (route) {
      return { endpoint: 'mcp', caller: found, isStillAuthorized: () => isSameCaller(found, request, route) };
    }
    if (path.startsWith('/api/')) return { endpoint: 'api', caller: found };
    return respondWith(404, 'There is nothing at this path. MCP is at /mcp.');
  }

  /** Authenticates again. If the check itself fails, keeps the earlier decision. */
  async function isSameCaller(before: Caller, request: RequestHead, route: ProfileRoute): Promise<boolean> {
    try {
      const again = await admitToProfile(request, route);
      if (!again || again === 'unknown') return false;
      if ('status' in again) return again.status === 503;
      return again.id === before.id && again.profile === before.profile && again.person === before.person;
    } catch {
      return true;
    }
  }

  // A page of any origin may link to a sign-in, but only its own page may send the form.
  function admitToPage(request: RequestHead): Admission {
    const hostError = checkHost(withoutOrigin(request));
    const error =
      hostError ?? (request.method === 'GET' ? undefined : checkOwnOrigin(request, settings().gateway.publicUrl));
    return error === undefined ? { endpoint: 'sign-in' } : respondWith(403, error);
  }

  return function admitRequest(request) {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    const route = profileRouteOf(path, options.profile);
    if (!route && options.isSignInPath?.(path)) return admitToPage(request);
    const hostError = checkHost(request);
    if (hostError) return respondWith(403, hostError);
    if (path === '/healthz') return respond({ status: 200, body: health(request, options) });
    const pending = { request, path, route };
    if (path.startsWith('/.well-known/')) return describeResource(pending, settings());
    const found = route ? admitToProfile(request, route) : authenticate(request);
    return found instanceof Promise
      ? found.then((authentication) => toAdmission(authentication, pending))
      : toAdmission(found, pending);
  };
}

const withoutOrigin = ({ method, url, headers: { origin: _, ...headers } }: RequestHead): RequestHead => ({
  method,
  url,
  headers,
});

function health({ url }: RequestHead, { prove }: AdmitOptions): JsonObject {
  const challenge = prove && challengeIn(url);
  return challenge === undefined ? { status: 'ok' } : { status: 'ok', proof: prove?.(challenge) };
}

type AccessSettings = ReturnType<Access['settings']>;

const tokensOf = ({ gateway: { auth } }: AccessSettings): TokenSettings | undefined =>
  auth === 'none' ? undefined : auth;

function refuse(refusal: AuthRefusal, { request, path, route }: PendingRequest, settings: AccessSettings): Admission {
  const { status, message, error } = refusal;
  if (status === 503) return respondWith(status, message);
  const tokens = tokensOf(settings);
  const endpoint = route ? path.replace(/^\/\w+/, '/mcp') : ''; // `/sse` and `/messages` have the metadata of `/mcp`.
  const challenge = challengeOf({
    ...(tokens && { metadata: metadataUrl(request, endpoint, tokens), scopes: neededScopes(tokens) }),
    ...(error && { error, description: message }),
  });
  return respond({ status, headers: { 'www-authenticate': challenge }, body: { error: message } });
}

/** Returns the scopes that map to the role user; all scopes if none does. */
function neededScopes({ scopes }: TokenSettings): readonly string[] {
  const all = Object.keys(scopes);
  const calling = all.filter((scope) => scopes[scope] === 'user');
  return calling.length > 0 ? calling : all;
}

/** Serves the OAuth protected resource metadata. It needs no credential. */
function describeResource({ request, path }: PendingRequest, settings: AccessSettings): Admission {
  const tokens = isMetadataPath(path) ? tokensOf(settings) : undefined;
  if (!tokens) return respondWith(404, 'There is nothing at this path.');
  if (request.method !== 'GET') return respondWith(405, 'Only GET is allowed.');
  return respond({ status: 200, body: resourceMetadata(request, tokens) });
}

function refuseOpenGateway(host: string, { gateway, profiles }: AccessSettings): void {
  const open = Object.keys(profiles).find((name) => profiles[name]?.auth === 'none');
  const setting = gateway.auth === 'none' ? 'gateway.auth' : open && `profiles.${open}.auth`;
  if (!setting) return;
  const message = `The gateway may not listen on ${host}: \`${setting}\` is "none", so other machines could call without a credential.`;
  throw new HeddleError('CONFIG_INVALID', message, { fix: `Remove \`${setting}\`, or listen on 127.0.0.1.` });
}

const respond = (response: JsonResponse): Admission => ({ endpoint: 'none', response });

const respondWith = (status: number, error: string): Admission => respond({ status, body: { error } });
