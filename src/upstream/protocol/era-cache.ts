import { HeddleError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import type { Era } from '../../wire/mcp.ts';
import type { Agreement, UrlTransport } from '../connection.ts';
import { wasLostAtProbe } from './negotiate.ts';

interface Verdict {
  readonly era: Era;
  /** The time of the last probe, not of the last use. */
  readonly at: number;
  /** The transport, for a server whose transport was found out at the connect. */
  readonly urlTransport?: UrlTransport;
}

/** The era and the transport of a server, valid for 30 days after the last probe. */
export interface EraCache {
  /** Returns the era to begin with; undefined when the server has to be probed. */
  known(): Era | undefined;
  /** Returns the transport to begin with; undefined when it has to be found out. */
  knownTransport(): UrlTransport | undefined;
  /** Takes the outcome of a connect that began with `known`. */
  record(known: Era | undefined, outcome: ConnectOutcome): void;
  /** Takes the error of a connect. After a timeout or a loss at the probe, the next connect probes again. */
  invalidate(error: HeddleError): void;
  /** Returns the cached era; undefined before the first connect and after `invalidate`. */
  current(): Verdict | undefined;
}

interface ConnectOutcome {
  readonly agreement: Pick<Agreement, 'newest'>;
  readonly urlTransport?: UrlTransport;
}

const VALID_MS = 30 * 24 * 60 * 60 * 1000;

export function eraCache(cached: Verdict | undefined, clock: Clock): EraCache {
  // The lists of a cached entry are not used: they may belong to another capability set.
  let verdict: Verdict | undefined = cached && toVerdict(cached.era, cached.at, cached.urlTransport);
  const valid = () => (verdict && clock() - verdict.at < VALID_MS ? verdict : undefined);
  return {
    known: () => valid()?.era,
    knownTransport: () => valid()?.urlTransport,
    record(known, { agreement: { newest }, urlTransport }) {
      const isSame = known === newest && verdict?.urlTransport === urlTransport;
      if (!isSame || !verdict) verdict = toVerdict(newest, clock(), urlTransport);
    },
    invalidate(error) {
      const timedOut = isTimeout(error) || (HeddleError.is(error.cause) && isTimeout(error.cause));
      if (timedOut || wasLostAtProbe(error)) verdict = undefined;
    },
    current: () => verdict,
  };
}

const toVerdict = (era: Era, at: number, urlTransport: UrlTransport | undefined): Verdict => ({
  era,
  at,
  ...(urlTransport && { urlTransport }),
});

const isTimeout = ({ code }: HeddleError) => code === 'UPSTREAM_TIMEOUT';
