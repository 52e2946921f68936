import { HeddleError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import type { Era } from '../../wire/mcp.ts';
import type { Agreement } from '../connection.ts';
import { wasLostAtProbe } from './negotiate.ts';

interface Verdict {
  readonly era: Era;
  /** The time of the last probe, not of the last use. */
  readonly at: number;
}

/** The era of a server, valid for 30 days after its last probe. */
export interface EraCache {
  /** Returns the era to begin with; undefined when the server has to be probed. */
  known(): Era | undefined;
  /** Takes the agreement of a connect that began with `known`. */
  record(known: Era | undefined, agreement: Agreement): void;
  /** Takes the error of a connect. After a timeout or a loss at the probe, the next connect probes again. */
  invalidate(error: HeddleError): void;
  /** Returns the cached era; undefined before the first connect and after `invalidate`. */
  current(): Verdict | undefined;
}

const VALID_MS = 30 * 24 * 60 * 60 * 1000;

export function eraCache(cached: Verdict | undefined, clock: Clock): EraCache {
  // Only the era is used of a cached entry: its lists may belong to another capability set.
  let verdict: Verdict | undefined = cached && { era: cached.era, at: cached.at };
  return {
    known: () => (verdict && clock() - verdict.at < VALID_MS ? verdict.era : undefined),
    record(known, { newest }) {
      if (known !== newest || !verdict) verdict = { era: newest, at: clock() };
    },
    invalidate(error) {
      const timedOut = isTimeout(error) || (HeddleError.is(error.cause) && isTimeout(error.cause));
      if (timedOut || wasLostAtProbe(error)) verdict = undefined;
    },
    current: () => verdict,
  };
}

const isTimeout = ({ code }: HeddleError) => code === 'UPSTREAM_TIMEOUT';
