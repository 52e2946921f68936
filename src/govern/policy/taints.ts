import { BoundedMap } from '../../core/bounded-map.ts';
import type { Taint } from '../../core/call/facts.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { Caller, DecidedCall, Handler, Result, Target } from '../../core/call.ts';
import type { Clock } from '../../core/time.ts';
import { keyFilter } from './key-filter.ts';

/** Keeps the labels of sessions: the kinds of results that a caller has received. */
export interface Taints {
  /** False if no rule looks at labels: then nothing is kept. */
  isTracked(): boolean;
  /** The labels of a caller's session. */
  labelsOf(caller: Caller): readonly Taint[];
  /** Runs a call and labels the session before any part of the result leaves. */
  run(call: DecidedCall, next: Handler<DecidedCall>): Promise<Result>;
}

export interface TaintOptions {
  readonly isTracked: () => boolean;
  /** The servers whose results count as trusted. */
  readonly trusted: () => ReadonlySet<string>;
  /** A monotonic clock. */
  readonly clock?: Clock;
  readonly maxKeys?: number;
}

/** Lifetime of the labels of a principal without sessions. */
const PRINCIPAL_MS = 30 * 60_000;
const MAX_KEYS = 10_000;
const ALL: readonly Taint[] = ['private', 'untrusted'];
const NONE: readonly Taint[] = [];

interface Labelled {
  readonly labels: ReadonlySet<Taint>;
  readonly at: number;
}

/**
 * Opens the labels. They are kept in memory: by session, or by principal for 30 minutes where there is no session. A key
 * that was evicted counts as labelled with everything.
 */
export function openTaints(options: TaintOptions): Taints {
  const { isTracked, trusted, clock = () => performance.now(), maxKeys = MAX_KEYS } = options;
  const evicted = keyFilter();
  const known = new BoundedMap<string, Labelled>(maxKeys);

  function labelsOf(caller: Caller): readonly Taint[] {
    const key = keyOf(caller);
    const found = known.get(key);
    if (!found) return evicted.mayHave(key) ? ALL : NONE;
    return isOver(caller, found) ? NONE : ALL.filter((label) => found.labels.has(label));
  }

  const isOver = ({ session }: Caller, { at }: Labelled) => session === undefined && clock() - at > PRINCIPAL_MS;

  function add(caller: Caller, labels: readonly Taint[]): void {
    const key = keyOf(caller);
    const oldest = known.size >= maxKeys && !known.has(key) ? known.keys().next().value : undefined;
    if (oldest !== undefined) evicted.add(oldest);
    known.set(key, { labels: new Set([...labelsOf(caller), ...labels]), at: clock() });
  }

  return {
    isTracked,
    labelsOf,
    async run(call, next) {
      const { caller, target } = call;
      const labels = labelsFrom(target, trusted());
      if (labels.length === 0) return next(call);
      add(caller, labels); // Before the call: progress and log messages leave before the result.
      try {
        return await next(call);
      } finally {
        add(caller, labels); // The 30 minutes begin with the result.
      }
    },
  };
}

/** Returns the labels of a target's results. Those of open-world tools are untrusted, unless every server is trusted. */
function labelsFrom({ facts, servers }: Target, trusted: ReadonlySet<string>): readonly Taint[] {
  const configured = facts.taints ?? NONE;
  const isUntrusted = facts.openWorld && !facts.builtin && !servers.every((server) => trusted.has(server));
  return isUntrusted && !configured.includes('untrusted') ? [...configured, 'untrusted'] : configured;
}

const keyOf = (caller: Caller): string =>
  caller.session === undefined ? `p ${vaultPrincipal(caller)}` : `s ${vaultPrincipal(caller)} ${caller.session}`;
