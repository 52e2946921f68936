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
  const stored = storedTokens(options);
  let pausedUntil = 0;
  const renewing = keepingUnsaved(options);

  /** Joins the renewal of this process, or starts it. */
  async function renewed(refused: string | undefined): Promise<Grant | undefined> {
    for (;;) {
      const earlier = running.get(name);
      const renewal = earlier ?? start(refused);
      const known = await renewal;
      stored.known = known;
      // An earlier renewal may have found the refused tokens still valid by their expiry.
      if (!earlier || !known || known.accessToken !== refused) return known;
    }
  }

  function start(refused: string | undefined): Promise<Grant | undefined> {
    const renewal = renewOnce(renewing, stored.reread, refused).finally(() => {
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
    const older = stored.known ?? (await stored.reread());
    pausedUntil = clock() + RETRY_PAUSE_MS;
    if (older && lasts(older, clock())) return older;
    if (failure) throw failure;
    return undefined;
  }

  /** Looks for changes of the vault by other processes, such as a logout, before tokens are used again. */
  async function freshAgain(signal = AbortSignal.timeout(LONGEST_WAIT_MS)): Promise<Grant | undefined> {
    await abortable(stored.update(), signal);
    return usable(clock()) ?? freshLater(signal);
  }

  /** Returns the tokens that this source used last, if they need no renewal or none can be had now. */
  function usable(now: number): Grant | undefined {
    const { known } = stored;
    return known && (!isDue(known, now) || (now < pausedUntil && lasts(known, now))) ? known : undefined;
  }

  return {
    current: () => stored.known,
    reread: stored.reread,
    fresh(signal) {
      const now = clock();
      if (stored.known && stored.isStale(now)) return freshAgain(signal);
      return usable(now) ?? freshLater(signal);
    },
    async renewAfter(refused, signal) {
      const { known } = stored;
      if (known && known.accessToken !== refused.accessToken) return known;
      return await abortable(renewed(refused.accessToken), signal);
    },
  };
}

/** The tokens of the vault, as they were read or renewed last. */
function storedTokens({ vault, serverUrl, principal, clock, accepts }: TokenSourceOptions) {
  const watch = watchOf(vault);
  /** The version of the vault at which the tokens were read, or an older one. */
  let seen = 0;
  const stored = {
    known: undefined as Grant | undefined,
    isStale: (now: number): boolean => seen !== watch.version || watch.isDue(now),
    async reread(): Promise<Grant | undefined> {
      await watch.check(clock());
      seen = watch.version;
      const found = await vault.find(serverUrl, principal);
      stored.known = found && (accepts?.(found) ?? true) ? found : undefined;
      return stored.known;
    },
    /** Reads the tokens again if another process has changed the vault. */
    async update(): Promise<void> {
      await watch.check(clock());
      if (seen !== watch.version) await stored.reread();
    },
  };
  return stored;
}

/** The longest time for which changes of the vault by other processes go unnoticed. A read for each call costs too much. */
const WATCH_MS = 100;

/** The version of a vault, as it was read last. */
interface VaultWatch {
  readonly version: number;
  isDue(now: number): boolean;
  /** Reads the version if that is due, once for all that wait. Keeps the earlier one if the store cannot be read. */
  check(now: number): Promise<void>;
}

const watches = new WeakMap<TokenVault, VaultWatch>();

/** Returns the watch that all tokens of a vault share. */
function watchOf(vault: TokenVault): VaultWatch {
  let [version, readAt] = [0, Number.NEGATIVE_INFINITY];
  let reading: Promise<void> | undefined;

  const isDue = (now: number) => Math.abs(now - readAt) >= WATCH_MS;

  async function read(now: number): Promise<void> {
    version = await vault.version().catch(() => version);
    readAt = now;
    reading = undefined;
  }

  const watch = watches.get(vault) ?? {
    get version() {
      return version;
    },
    isDue,
    async check(now) {
      if (!isDue(now)) return;
      reading ??= read(now);
      await reading;
    },
  };
  watches.set(vault, watch);
  return watch;
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
