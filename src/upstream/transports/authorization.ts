import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { Credential, Refusal } from '../auth/credential.ts';
import type { ResponseHead } from './http-exchange.ts';

type Headers = Readonly<Record<string, string>>;

/** A response with status 401 or 403, and the request that it answers. */
export interface RefusedRequest {
  readonly server: string;
  readonly url: URL;
  readonly head: Pick<ResponseHead, 'status' | 'headers'>;
  /** The headers that the credential gave the request. */
  readonly sent: Headers;
  /** True if the request had been sent twice. */
  readonly isRetry: boolean;
  /** The method of the JSON-RPC message; absent for a stream. */
  readonly rpcMethod?: string | undefined;
  readonly signal: AbortSignal;
}

/** Returns headers with names in lower case, so that those of a credential replace them. */
export const lowerCaseNames = (headers: Headers = {}): Headers =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** Tests whether a response goes to the credential before its body is read. */
export const isRefused = ({ status }: Pick<ResponseHead, 'status'>): boolean => status === 401 || status === 403;

/** Returns the headers of a credential. Its failure is that of a request that was not sent. */
export function authorize(
  credential: Credential | undefined,
  request: Parameters<Credential['headersFor']>[0],
): Headers | undefined | Promise<Headers> {
  if (!credential) return undefined;
  const headers = credential.headersFor(request);
  return headers instanceof Promise ? headers.catch(throwUnsent) : headers;
}

/**
 * Hands a 401 or 403 to the credential. Returns true if the request is to be sent once more, and false for a 403
 * without a challenge, whose body may be a response. Throws the error of the credential, or one that says why.
 */
export async function mayResend(credential: Credential | undefined, refused: RefusedRequest): Promise<boolean> {
  const { head, url, sent, isRetry, signal } = refused;
  const { parseChallenges, challengeFacts } = await import('../auth/challenge.ts');
  const challenges = parseChallenges(head.headers['www-authenticate']);
  const status = head.status === 401 ? 401 : 403;
  const isOfCall = CALL_METHODS.has(refused.rpcMethod ?? '');
  const isMessage = refused.rpcMethod !== undefined;
  const refusal: Refusal = { status, challenges, headers: head.headers, sent, url, isRetry, isOfCall, isMessage };
  const wantsRetry = credential && (await credential.onRefused(refusal, signal).catch(throwUnsent));
  if (wantsRetry && !isRetry) return true;
  if (status === 403 && challenges.length === 0) return false;
  const { error, scopes, metadataUrl } = challengeFacts(refusal);
  const facts: Facts = { status, error, scopes: [...scopes], isOfCall, ...(metadataUrl && { metadataUrl }) };
  throw toFailure(refused, facts);
}

/** The methods of requests that one call sends. A refusal of others concerns the server. */
const CALL_METHODS = new Set([
  ...['tools/call', 'prompts/get', 'resources/read', 'resources/subscribe', 'resources/unsubscribe'],
  ...['completion/complete', 'tasks/get', 'tasks/result', 'tasks/update', 'tasks/cancel'],
]);

/** Sends a request, and once more if that says so. Returns what came of the last attempt. */
export async function sendTwice<T>(
  send: (isRetry: boolean) => Promise<{ readonly got: T; readonly resend: boolean }>,
): Promise<T> {
  const { got, resend } = await send(false);
  return resend ? (await send(true)).got : got;
}

interface Facts {
  readonly status: 401 | 403;
  readonly error: string | undefined;
  readonly scopes: string[];
  readonly isOfCall: boolean;
  readonly metadataUrl?: string;
}

/** The error for a refused request. A 403 needs a sign-in only if the challenge says that scopes are missing. */
function toFailure({ server, head }: RefusedRequest, { status, error, isOfCall, ...facts }: Facts): UpstreamError {
  const challenge = linesOf(head.headers['www-authenticate']);
  const details = { server, status, challenge, ...facts, unsent: true, ...(isOfCall && { isOfCall }) };
  const isScope = error === 'insufficient_scope';
  if (status === 403 && !isScope) {
    const message = `${server} does not accept the credential for this request (HTTP 403).`;
    const fix = `Check what the account that Heddle uses for ${server} may do.`;
    return new UpstreamError('UPSTREAM_FAILED', message, { delivered: 'no', details, fix });
  }
  const wants = isScope ? `requires more scopes${listed(facts.scopes)}` : 'wants a credential';
  return new UpstreamError('AUTH_NEEDED', `${server} ${wants} (HTTP ${status}).`, { delivered: 'no', details });
}

const listed = (scopes: readonly string[]) => (scopes.length === 0 ? '' : `: ${scopes.slice(0, 10).join(' ')}`);

const MAX_CHALLENGE_CHARS = 1000;

const linesOf = (header: string | string[] | undefined): string | undefined =>
  header === undefined ? undefined : [header].flat().join(', ').slice(0, MAX_CHALLENGE_CHARS);

/** Rethrows the failure of a credential. It says nothing about the server, so no breaker counts it. */
function throwUnsent(thrown: unknown): never {
  if (!(thrown instanceof UpstreamError)) throw HeddleError.is(thrown) ? thrown : HeddleError.from(thrown);
  const { code, message, fix, details, cause } = thrown;
  throw new UpstreamError(code as never, message, {
    delivered: 'no',
    fix,
    details: { ...details, unsent: true },
    cause: cause ?? thrown,
  });
}
