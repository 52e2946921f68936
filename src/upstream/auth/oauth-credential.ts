import { abortable } from '../../core/async/abortable.ts';
import type { Clock } from '../../core/time.ts';
import type { Grant } from '../../store/token-vault.ts';
import { authNeeded, challengedScopes, oauthChallenge, unionOf } from './auth-needed.ts';
import type { Credential, Refusal } from './credential.ts';
import type { DpopSigner } from './dpop.ts';
import type { TokenSource } from './token-source.ts';

export interface OAuthCredentialOptions {
  /** The name of the server. */
  readonly server: string;
  readonly serverUrl: string;
  readonly source: TokenSource;
  readonly clock: Clock;
  /** Returns the signer for a token of the type DPoP. */
  dpopSigner(grant: Grant): DpopSigner;
  /** Runs before tokens are renewed because of a 401. Throws if they must not be renewed. */
  beforeRenewal?(grant: Grant, refusal: Refusal, signal: AbortSignal): Promise<void>;
}

type Headers = Readonly<Record<string, string>>;

/** The time limit of the work after a 401. It covers metadata, the lease of another process and a token request. */
const REFUSAL_LIMIT_MS = 60_000;

/** Tokens from a renewal that are refused within this time are not renewed again. */
const RENEWED_LATELY_MS = 10_000;

/** Authorizes requests with the tokens of a source, and renews these once after a 401. */
export function oauthCredential(options: OAuthCredentialOptions): Credential {
  const { source, serverUrl, clock } = options;
  const signers = new WeakMap<Grant, DpopSigner>();
  let running: { readonly token: string; readonly renewal: Promise<void> } | undefined;
  let renewed: { readonly token: string; readonly at: number } | undefined;

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
    if (renewed?.token === refused.accessToken && clock() - renewed.at < RENEWED_LATELY_MS) {
      throw needed(options, refusal, refused, 'refused a token that was renewed a moment ago');
    }
    const stored = await source.reread();
    if (stored && stored.accessToken !== refused.accessToken) return; // Another process has renewed them.
    await options.beforeRenewal?.(refused, refusal, signal);
    const grant = await source.renewAfter(refused, signal);
    if (!grant) throw needed(options, refusal, refused, 'refused its access token, which cannot be renewed');
    renewed = { token: grant.accessToken, at: clock() };
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

  return {
    headersFor(request) {
      const grant = source.fresh(request.signal ?? AbortSignal.timeout(REFUSAL_LIMIT_MS));
      return grant instanceof Promise
        ? grant.then((found) => headersWith(found, request))
        : headersWith(grant, request);
    },
    async onRefused(refusal, signal) {
      const used = source.current();
      const isNewNonce =
        used?.tokenType === 'DPoP' && signerOf(used).takeNonce(new URL(serverUrl), refusal.headers['dpop-nonce']);
      if (isNewNonce && oauthChallenge(refusal)?.params.error === 'use_dpop_nonce') return true;
      if (isScopeMissing(refusal)) throw needed(options, refusal, used, 'requires more scopes');
      if (refusal.status === 403) return false;
      if (!wasSent(used, refusal)) {
        // Another request has renewed the tokens, or another process has signed in.
        const found = used ?? (await source.reread());
        if (found && !wasSent(found, refusal)) return true;
        throw needed(options, refusal, used, 'requires a sign-in');
      }
      await abortable(renewOnce(used, refusal), signal);
      return true;
    },
  };
}

const wasSent = (grant: Grant | undefined, { sent }: Refusal): grant is Grant =>
  grant !== undefined && sent.authorization === `${grant.tokenType} ${grant.accessToken}`;

const isScopeMissing = (refusal: Refusal) => oauthChallenge(refusal)?.params.error === 'insufficient_scope';

/** Returns AUTH_NEEDED with the scopes that the tokens have and those that the challenge names. */
function needed({ server }: OAuthCredentialOptions, refusal: Refusal, grant: Grant | undefined, reason: string) {
  const challenge = oauthChallenge(refusal);
  const scopes = unionOf(grant?.scopes ?? [], challengedScopes(challenge));
  const named = isScopeMissing(refusal) && scopes.length > 0 ? `: ${scopes.join(' ')}` : '';
  return authNeeded({
    server,
    reason: `${server} ${reason}${named} (HTTP ${refusal.status}).`,
    scopes,
    metadataUrl: challenge?.params.resource_metadata,
    details: { status: refusal.status, ...(isScopeMissing(refusal) && { oauthError: 'insufficient_scope' }) },
  });
}
