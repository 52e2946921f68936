import { HeddleError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import type { Era } from '../../wire/mcp.ts';
import type { Agreement } from '../connection.ts';
import { wasLostAtProbe } from './negotiate.ts';

interface Verdict {
  readonly era: Era;
  /** When the server was last asked for it, not when it was last believed. */
  readonly at: number;
}

/** What is believed of a server's era, and since when. */
export interface EraCache {
  /** The era to begin with; undefined when the server is to be asked. */
  known(): Era | undefined;
  /** Takes what came of a connect that began with `known`. */
  record(known: Era | undefined, agreement: Agreement): void;
  /** A connect failed: after silence, or a line lost over that question, the server is asked for its era the next time. */
  invalidate(error: HeddleError): void;
  /** Undefined before the first connect, and after one that leaves the era in doubt. */
  current(): Verdict | undefined;
}

const BELIEVED_MS = 30 * 24 * 60 * 60 * 1000;

export function eraCache(remembered: Verdict | undefined, clock: Clock): EraCache {
  // Of all that is remembered no more than this: the rest may be of another user.
  let verdict: Verdict | undefined = remembered && { era: remembered.era, at: remembered.at };
  return {
    known: () => (verdict && clock() - verdict.at < BELIEVED_MS ? verdict.era : undefined),
    record(known, { newest }) {
      if (known !== newest || !verdict) verdict = { era: newest, at: clock() };
    },
    invalidate(error) {
      const isSilent = isSilence(error) || (HeddleError.is(error.cause) && isSilence(error.cause));
      if (isSilent || wasLostAtProbe(error)) verdict = undefined;
    },
    current: () => verdict,
  };
}

const isSilence = ({ code }: HeddleError) => code === 'UPSTREAM_TIMEOUT';
