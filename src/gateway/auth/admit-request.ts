import type { Caller, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { addressKind } from '../../egress/address-kind.ts';
import type { Access } from '../../heddle.ts';
import type { AuthenticatedCaller, RequestHead } from '../http-request.ts';
import type { HttpResponse } from '../response-writer.ts';
import { type ProfileRoute, profileAdmitter, profileRouteOf } from './admit-to-profile.ts';
import type { Admission, Authenticate, AuthRefusal } from './authenticate.ts';
import { challengeOf } from './bearer.ts';
import { type HostRules, hostChecker } from './check-host.ts';
import { challengeIn } from './gateway-proof.ts';
import { isMetadataPath, metadataUrl, resourceMetadata, type TokenSettings } from './resource-metadata.ts';

export interface AdmitOptions extends HostRules {
  readonly heddle: { readonly access: Pick<Access, 'settings'> };
  readonly authenticate: Authenticate;
  /** The address that is listened on. */
  readonly host: string;
  /** Answers a challenge at `/healthz`, by which local commands tell this gateway from another process. */
  readonly prove?: ((challenge: string) => string) | undefined;
  /** The profile that `/mcp` itself serves; everything when absent. */
  readonly profile?: string | undefined;
}

/** What is behind the doors. */
export interface Routes {
  mcp(admitted: AuthenticatedCaller): Promise<void> | void;
  /** Answers what is under `/api/`; the console's. */
  api?(caller: Caller): Promise<void> | void;
}

/** One request at the door. */
interface PendingRequest {
  readonly request: RequestHead;
  readonly response: HttpResponse;
  readonly rooms: Routes;
  readonly path: string;
  readonly place: ProfileRoute | undefined;
}

const SHOW_TOKEN = 'Send the token that `heddle up` printed, or a key, as `Authorization: Bearer …`.';
const WRONG = `What was shown opens nothing here, or no longer. ${SHOW_TOKEN}`;

/** What every request comes through. Throws CONFIG_INVALID when anybody could come in from elsewhere unasked. */
export function admitRequests(
  options: AdmitOptions,
): (request: RequestHead, response: HttpResponse, rooms: Routes) => Promise<void> | void {
  const { host, authenticate } = options;
  const { settings } = options.heddle.access;
  const isLocal = host === 'localhost' || addressKind(host) === 'loopback';
  if (!isLocal) refuseStrangers(host, settings());
  const checkHost = hostChecker(options);
  const admit = profileAdmitter({ settings, authenticate, isLocal });

  function enter(found: Admission | 'unknown', visit: PendingRequest): Promise<void> | void {
    const { request, response, rooms, path, place } = visit;
    if (!found)
      return refuse({ status: 401, message: request.headers.authorization ? WRONG : SHOW_TOKEN }, visit, settings());
    if (found === 'unknown') return say(response, 404, 'There is no such profile here.');
    if ('status' in found) return refuse(found, visit, settings());
    if (place) return rooms.mcp({ caller: found, isStillAuthorized: () => mayAgain(found, request, place) });
    if (path.startsWith('/api/') && rooms.api) return rooms.api(found);
    return say(response, 404, 'There is nothing here. MCP is at /mcp.');
  }

  /** Where it cannot be found out now, as before. */
  async function mayAgain({ id, profile }: Caller, request: RequestHead, place: ProfileRoute): Promise<boolean> {
    try {
      const again = await admit(request, place);
      if (!again || again === 'unknown') return false;
      return 'status' in again ? again.status === 503 : again.id === id && again.profile === profile;
    } catch {
      return true;
    }
  }

  return function receive(request, response, rooms) {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    const trouble = checkHost(request);
    if (trouble) return say(response, 403, trouble);
    if (path === '/healthz') return sendJson(response, 200, health(request, options));
    const place = profileRouteOf(path, options.profile);
    const visit = { request, response, rooms, path, place };
    if (path.startsWith('/.well-known/')) return introduce(visit, settings());
    // Every call comes this way: only a credential that has to be looked up is waited for.
    const found = place ? admit(request, place) : authenticate(request);
    return found instanceof Promise ? found.then((admission) => enter(admission, visit)) : enter(found, visit);
  };
}

function health({ url }: RequestHead, { prove }: AdmitOptions): JsonObject {
  const challenge = prove && challengeIn(url);
  return challenge === undefined ? { status: 'ok' } : { status: 'ok', proof: prove?.(challenge) };
}

type AccessSettings = ReturnType<Access['settings']>;

const tokensOf = ({ gateway: { auth } }: AccessSettings): TokenSettings | undefined =>
  auth === 'none' ? undefined : auth;

function refuse({ status, message, error }: AuthRefusal, visit: PendingRequest, settings: AccessSettings): void {
  const { request, response, path, place } = visit;
  const tokens = tokensOf(settings);
  const endpoint = place ? path.replace(/^\/\w+/, '/mcp') : ''; // Where this MCP is known to be.
  const challenge = challengeOf({
    ...(tokens && { metadata: metadataUrl(request, endpoint, tokens), scopes: neededScopes(tokens) }),
    ...(error && { error, description: message }),
  });
  if (status !== 503) response.setHeader('www-authenticate', challenge);
  say(response, status, message);
}

/** Those that let a client call; all there are when none does. */
function neededScopes({ scopes }: TokenSettings): readonly string[] {
  const all = Object.keys(scopes);
  const calling = all.filter((scope) => scopes[scope] === 'user');
  return calling.length > 0 ? calling : all;
}

/** Who issues tokens may be asked by those who have none yet. */
function introduce({ request, response, path }: PendingRequest, settings: AccessSettings): void {
  const tokens = isMetadataPath(path) ? tokensOf(settings) : undefined;
  if (!tokens) say(response, 404, 'There is nothing here.');
  else if (request.method !== 'GET') say(response, 405, 'Only GET is served here.');
  else sendJson(response, 200, resourceMetadata(request, tokens));
}

function refuseStrangers(host: string, { gateway, profiles }: AccessSettings): void {
  const open = Object.keys(profiles).find((name) => profiles[name]?.auth === 'none');
  const setting = gateway.auth === 'none' ? 'gateway.auth' : open && `profiles.${open}.auth`;
  if (!setting) return;
  const message = `The gateway may not listen on ${host}: \`${setting}\` is "none", so anybody could call from elsewhere.`;
  throw new HeddleError('CONFIG_INVALID', message, { fix: `Remove \`${setting}\`, or listen on 127.0.0.1.` });
}

/** Says that handling a request failed, as far as that can still be said. */
export function failResponse(response: HttpResponse, thrown: unknown): void {
  if (response.headersSent) response.destroy();
  else say(response, 500, HeddleError.from(thrown).message);
}

function say(response: HttpResponse, status: number, message: string): void {
  sendJson(response, status, { error: message });
}

function sendJson(response: HttpResponse, status: number, value: JsonObject): void {
  const body = JSON.stringify(value);
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    .end(body);
}
