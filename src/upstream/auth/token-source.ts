import { abortable } from '../../core/async/abortable.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import type { LeaseBook } from '../../store/lease-book.ts';
import type { Grant, TokenVault } from '../../store/token-vault.ts';
import { tokenLeaseName, tooSlow, withTokenLease } from './token-lease.ts';
import { isDue, lasts } from './token-lifetime.ts';

/** The tokens of one principal at one server. Renews them once for all that need them. */
export interface TokenSource {
  /** Returns the tokens that this source used last, without reading the vault. */
  current(): Grant | undefined;
  /** Returns valid tokens, synchronously unless they must be read or renewed; undefined if a person must sign in. */
  fresh(signal?: AbortSignal): Grant | undefined | Promise<Grant | undefined>;
  /** Returns the newest tokens of the vault, which another process may have written. */
  reread(): Promise<Grant | undefined>;
  /** Returns other tokens than the refused ones: those of the vault, or renewed ones. Undefined if a person must sign in. */
  renewAfter(refused: Grant, signal: AbortSignal): Promise<Grant | undefined>;
}

export interface TokenSourceOptions {
  readonly vault: TokenVault;
  readonly leases: LeaseBook;
  readonly serverUrl: string;
  readonly principal: string;
  readonly clock: Clock;
  /** Holds each renewal in progress. A process that ends earlier loses a rotated refresh token. */
  readonly renewals?: Set<Promise<unknown>> | undefined;
  /** False for a grant that counts as none, such as one of another client than the configured one. */
  accepts?(grant: Grant): boolean;
  /** Runs before the lease is taken, for slow work such as reading metadata. Returns false if a person must sign in. */
  prepare?(previous: Grant | undefined, signal: AbortSignal): Promise<boolean>;
  /**
   * Requests new tokens; undefined if a person must sign in. Runs under the lease of the tokens. `previous` is the grant
   * in the vault. The result is written to the vault before it is used.
   */
  renew(previous: Grant | undefined, signal: AbortSignal): Promise<Grant | undefined>;
}

/** The pause after a failed renewal, in which tokens that still last are used without another attempt. */
const RETRY_PAUSE_MS = 500;

/** The longest wait of a request that has no signal of its own. */
const LONGEST_WAIT_MS = 60_000;

/** The time limit of the work before the lease is taken. */
const PREPARE_MS = 20_000;

// The renewals of this process by vault and lease name. Connections of one server share them.
const renewals = new WeakMap<TokenVault, Map<string, Promise<Grant | undefined>>>();

/** Opens the tokens of a principal at a server. */
export function tokenSource(options: TokenSourceOptions): TokenSource {
  const { vault, serverUrl, principal, clock } = options;
  const name = tokenLeaseName(serverUrl, principal);
  const running = renewalsIn(vault);
  let known: Grant | undefined;
  let pausedUntil = 0;
  const renewing = keepingUnsaved(options);

  async function reread(): Promise<Grant | undefined> {
    const found = await vault.find(serverUrl, principal);
    known = found && (options.accepts?.(found) ?? true) ? found : undefined;
    return known;
  }

  /** Joins the renewal of this process, or starts it. */
  async function renewed(refused: string | undefined): Promise<Grant | undefined> {
    for (;;) {
      const earlier = running.get(name);
      const renewal = earlier ?? start(refused);
      known = await renewal;
      // An earlier renewal may have found the refused tokens still valid by their expiry.
      if (!earlier || !known || known.accessToken !== refused) return known;
    }
  }

  function start(refused: string | undefined): Promise<Grant | undefined> {
    const renewal = renewOnce(renewing, reread, refused).finally(() => {
      running.delete(name);
      options.renewals?.delete(renewal);
    });
    running.set(name, renewal);
    options.renewals?.add(renewal);
    return renewal;
  }

  /** Falls back to tokens that still last if new ones cannot be had now, or not without a person. */
  async function freshLater(signal = AbortSignal.timeout(LONGEST_WAIT_MS)): Promise<Grant | undefined> {
    let failure: unknown;
    try {
      const grant = await abortable(renewed(undefined), signal);
      if (grant) return grant;
    } catch (error) {
      if (!isTemporary(error)) throw error;
      failure = error;
    }
    const stored = known ?? (await reread());
    pausedUntil = clock() + RETRY_PAUSE_MS;
    if (stored && lasts(stored, clock())) return stored;
    if (failure) throw failure;
    return undefined;
  }

  return {
    current: () => known,
    reread,
    fresh(signal) {
      const now = clock();
      if (known && !isDue(known, now)) return known;
      if (known && now < pausedUntil && lasts(known, now)) return known;
      return freshLater(signal);
    },
    async renewAfter(refused, signal) {
      if (known && known.accessToken !== refused.accessToken) return known;
      return await abortable(renewed(refused.accessToken), signal);
    },
  };
}

/** Renews with the tokens of the last renewal if they could not be written: the old refresh token may be used up. */
function keepingUnsaved(options: TokenSourceOptions): TokenSourceOptions {
  let unsaved: { readonly grant: Grant; readonly after: string | undefined } | undefined;
  return {
    ...options,
    async renew(previous, signal) {
      if (unsaved && unsaved.after === previous?.accessToken) return unsaved.grant;
      const grant = await options.renew(previous, signal);
      unsaved = grant && { grant, after: previous?.accessToken };
      return grant;
    },
    vault: {
      ...options.vault,
      async put(grant, epoch) {
        const isWritten = await options.vault.put(grant, epoch);
        unsaved = undefined;
        return isWritten;
      },
    },
  };
}

function renewalsIn(vault: TokenVault): Map<string, Promise<Grant | undefined>> {
  const found = renewals.get(vault) ?? new Map<string, Promise<Grant | undefined>>();
  renewals.set(vault, found);
  return found;
}

/** Renews tokens once among all processes. Uses those of the vault if another process was faster. */
async function renewOnce(
  options: TokenSourceOptions,
  reread: () => Promise<Grant | undefined>,
  refused: string | undefined,
): Promise<Grant | undefined> {
  const { leases, serverUrl, principal, clock } = options;
  const isUsable = (grant: Grant | undefined) =>
    grant !== undefined && grant.accessToken !== refused && !isDue(grant, clock());
  const first = await reread();
  if (isUsable(first)) return first;
  const limit = AbortSignal.timeout(PREPARE_MS);
  const isRenewable = await options.prepare?.(first, limit).catch((error) => {
    throw limit.aborted ? tooSlow(serverUrl, error) : error;
  });
  if (isRenewable === false) return undefined;
  return await withTokenLease({
    leases,
    serverUrl,
    principal,
    async onWaiting() {
      const found = await reread();
      return found?.accessToken === first?.accessToken ? undefined : found;
    },
    async work({ epoch }, signal) {
      const previous = await reread();
      if (isUsable(previous)) return previous;
      try {
        const next = await options.renew(previous, signal);
        return !next || (await options.vault.put(next, epoch)) ? next : await reread();
      } catch (error) {
        const found = isInvalidGrant(error) ? await reread() : undefined;
        if (found && found.accessToken !== previous?.accessToken) return found;
        throw error;
      }
    },
  });
}

const isInvalidGrant = (error: unknown) => HeddleError.is(error) && error.details.oauthError === 'invalid_grant';

const isTemporary = (error: unknown) =>
  HeddleError.is(error) && (error.code === 'UPSTREAM_UNREACHABLE' || error.code === 'UPSTREAM_TIMEOUT');
