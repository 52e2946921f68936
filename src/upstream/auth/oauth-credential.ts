import { abortable } from '../../core/async/abortable.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { Grant } from '../../store/token-vault.ts';
import { authNeeded, MAX_NAMED_SCOPES, unionOf } from './auth-needed.ts';
import { challengeFacts } from './challenge.ts';
import type { Credential, Refusal } from './credential.ts';
import type { DpopSigner } from './dpop.ts';
import { tooSlow } from './token-lease.ts';
import type { TokenSource } from './token-source.ts';

export interface OAuthCredentialOptions {
  /** The name of the server. */
  readonly server: string;
  readonly serverUrl: string;
  readonly source: TokenSource;
  /** Returns the signer for a token of the type DPoP. */
  dpopSigner(grant: Grant): DpopSigner;
  /** Runs before tokens are renewed because of a 401. Throws if they must not be renewed. */
  beforeRenewal?(grant: Grant, refusal: Refusal, signal: AbortSignal): Promise<void>;
}

type Headers = Readonly<Record<string, string>>;

/** The time limit of the work after a 401. It covers metadata, the lease of another process and a token request. */
const REFUSAL_LIMIT_MS = 60_000;

/** Authorizes requests with the tokens of a source, and renews these once after a 401. */
export function oauthCredential(options: OAuthCredentialOptions): Credential {
  const { source, serverUrl } = options;
  const signers = new WeakMap<Grant, DpopSigner>();
  let running: { readonly token: string; readonly renewal: Promise<void> } | undefined;

  function signerOf(grant: Grant): DpopSigner {
    const signer = signers.get(grant) ?? options.dpopSigner(grant);
    signers.set(grant, signer);
    return signer;
  }

  function headersWith(grant: Grant | undefined, { method, url }: { method: string; url: URL }): Headers {
    if (!grant) return {};
    if (grant.tokenType === 'Bearer') return { authorization: `Bearer ${grant.accessToken}` };
    const proof = signerOf(grant).proofFor({ method, url, accessToken: grant.accessToken });
    return { authorization: `DPoP ${grant.accessToken}`, dpop: proof };
  }

  async function renew(refused: Grant, refusal: Refusal): Promise<void> {
    const signal = AbortSignal.timeout(REFUSAL_LIMIT_MS);
    const stored = await source.reread();
    if (stored && stored.accessToken !== refused.accessToken) return; // Another process has renewed them.
    await options.beforeRenewal?.(refused, refusal, signal).catch((error) => {
      throw signal.aborted ? tooSlow(serverUrl, error) : error;
    });
    const grant = await source.renewAfter(refused, signal);
    if (!grant) throw needed(options, refusal, refused, 'refused its access token, which cannot be renewed');
  }

  /** Renews refused tokens once for all requests that they were refused for. */
  function renewOnce(refused: Grant, refusal: Refusal): Promise<void> {
    if (running?.token === refused.accessToken) return running.renewal;
    const renewal = renew(refused, refusal).finally(() => {
      running = undefined;
    });
    running = { token: refused.accessToken, renewal };
    return renewal;
  }

  /** Looks for other tokens than the refused ones: another request or process may have renewed them. */
  async function hasOthers(refusal: Refusal, signal: AbortSignal): Promise<boolean> {
    const used = source.current();
    if (!used) await source.reread();
    const next = await source.fresh(signal);
    if (next && !wasSent(next, refusal)) return true;
    throw needed(options, refusal, used, 'requires a sign-in');
  }

  /** Remembers the DPoP nonce of a response. Returns true if it is a new one. */
  function takeNonce(headers: Refusal['headers'], url: URL): boolean {
    const used = source.current();
    return used?.tokenType === 'DPoP' && signerOf(used).takeNonce(url, headers['dpop-nonce']);
  }

  return {
    headersFor(request) {
      const grant = source.fresh(request.signal);
      if (!(grant instanceof Promise)) return headersWith(grant, request);
      return grant.then((found) => headersWith(found, request)).catch(throwUndelivered);
    },
    async onRefused(refusal, signal) {
      const used = source.current();
      if (isNonceMissing(refusal, takeNonce(refusal.headers, refusal.url))) return true;
      if (isScopeMissing(refusal)) return await hasMoreScopes(options, refusal);
      if (refusal.status === 403) return false;
      if (!wasSent(used, refusal)) return await hasOthers(refusal, signal);
      if (refusal.isRetry) throw needed(options, refusal, used, 'refused a new access token, too');
      await abortable(renewOnce(used, refusal), signal).catch(throwUndelivered);
      return true;
    },
    onAccepted: takeNonce,
  };
}

/** Looks for stored tokens with more scopes: another process, or a sign-in of this one, may have written them. */
async function hasMoreScopes(options: OAuthCredentialOptions, refusal: Refusal): Promise<boolean> {
  const used = options.source.current();
  const stored = await options.source.reread();
  if (stored && !wasSent(stored, refusal) && !refusal.isRetry) return true;
  throw needed(options, refusal, stored ?? used, 'requires more scopes');
}

/** Rethrows a failure of the authorization server as one of the server, which did not carry out the request. */
function throwUndelivered(thrown: unknown): never {
  if (!HeddleError.is(thrown) || thrown instanceof UpstreamError) throw thrown;
  const { code, message, fix, details } = thrown;
  if (code !== 'UPSTREAM_UNREACHABLE' && code !== 'UPSTREAM_TIMEOUT') throw thrown;
  throw new UpstreamError(code, message, { delivered: 'no', fix, details, cause: thrown });
}

const wasSent = (grant: Grant | undefined, { sent }: Refusal): grant is Grant =>
  grant !== undefined && sent.authorization === `${grant.tokenType} ${grant.accessToken}`;

const isNonceMissing = (refusal: Refusal, isNewNonce: boolean) =>
  isNewNonce && challengeFacts(refusal).error === 'use_dpop_nonce';

const isScopeMissing = (refusal: Refusal) => challengeFacts(refusal).error === 'insufficient_scope';

/** Returns AUTH_NEEDED with the scopes that the tokens have and those that the challenge names. */
function needed({ server }: OAuthCredentialOptions, refusal: Refusal, grant: Grant | undefined, reason: string) {
  const facts = challengeFacts(refusal);
  const granted = grant?.scopes ?? [];
  const scopes = unionOf(granted, facts.scopes);
  const lacked = facts.scopes.filter((scope) => !granted.includes(scope));
  const missing = isScopeMissing(refusal) && refusal.isOfCall ? lacked : [];
  const listed = missing.length > 0 ? missing : scopes;
  const named = isScopeMissing(refusal) && listed.length > 0 ? `: ${listed.slice(0, MAX_NAMED_SCOPES).join(' ')}` : '';
  return authNeeded({
    server,
    reason: `${server} ${reason}${missing.length > 0 ? ' for this request' : ''}${named} (HTTP ${refusal.status}).`,
    ...{ scopes, missing },
    metadataUrl: facts.metadataUrl,
    details: {
      status: refusal.status,
      ...(isScopeMissing(refusal) && { oauthError: 'insufficient_scope' }),
      ...(facts.isDpop && { isDpop: true }),
    },
  });
}
