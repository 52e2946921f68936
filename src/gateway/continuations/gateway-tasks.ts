import { randomUUID } from 'node:crypto';
import type { Call, Result } from '../../core/call.ts';
import { type Clock, realTimer, type Timer } from '../../core/time.ts';
import type { Heddle } from '../../heddle.ts';
import { GatewayTask } from './gateway-task.ts';
import { principalOf } from './request-state.ts';

/** The gateway tasks of this process: long calls whose clients got a task id instead of the result. */
export interface GatewayTasks {
  /** Runs a call. Resolves with its result, or with its task if the result takes longer than `afterMs`. */
  run(call: Call): Promise<Result | GatewayTask>;
  /** Returns the caller's task; undefined if it does not exist, has expired or belongs to another principal. */
  find(ticket: string, request: Pick<Call, 'caller'>): GatewayTask | undefined;
  /** Cancels all tasks. */
  close(): void;
}

export interface GatewayTasksOptions {
  /** Time until a client gets a task id instead of the result. */
  readonly afterMs?: number;
  /** Longest time for a call and for keeping its result. */
  readonly ttlMs?: number;
  readonly max?: number;
  readonly maxPerPrincipal?: number;
  /** Largest total size of all kept results, and of those of one principal. */
  readonly maxBytes?: number;
  readonly maxBytesPerPrincipal?: number;
  readonly timer?: Timer;
  readonly clock?: Clock;
}

const AFTER_MS = 10_000;
const TTL_MS = 3_600_000;
const MAX = 1000;
const MAX_PER_PRINCIPAL = 16;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_BYTES_PER_PRINCIPAL = 16 * 1024 * 1024;

interface KeptTask {
  readonly task: GatewayTask;
  readonly principal: string;
  readonly cancelExpiry: () => void;
}

export function gatewayTasks(
  heddle: Pick<Heddle, 'dispatch' | 'catalog'>,
  options: GatewayTasksOptions = {},
): GatewayTasks {
  const { afterMs = AFTER_MS, ttlMs = TTL_MS, max = MAX, maxPerPrincipal = MAX_PER_PRINCIPAL } = options;
  const { maxBytes = MAX_BYTES, maxBytesPerPrincipal = MAX_BYTES_PER_PRINCIPAL } = options;
  const { timer = realTimer, clock = Date.now } = options;
  const kept = new Map<string, KeptTask>();

  function remove(ticket: string): void {
    const entry = kept.get(ticket);
    entry?.cancelExpiry();
    entry?.task.cancel();
    kept.delete(ticket);
  }

  /** Tests whether another task fits. If not, the oldest ended task makes place for it. */
  function hasCapacity(principal: string): boolean {
    const isFull = (own: boolean) => {
      const counted = [...kept].filter(([, entry]) => !own || entry.principal === principal);
      if (counted.length < (own ? maxPerPrincipal : max)) return false;
      const [ended] = counted.find(([, { task }]) => task.isEnded) ?? [];
      if (ended !== undefined) remove(ended);
      return ended === undefined;
    };
    return !isFull(true) && !isFull(false);
  }

  function evictFor(latest: GatewayTask, principal: string): void {
    const ended = () => [...kept].filter(([, { task }]) => task.isEnded);
    const own = ended().filter(([, entry]) => entry.principal === principal);
    for (const ticket of surplus(own, maxBytesPerPrincipal, latest)) remove(ticket);
    for (const ticket of surplus(ended(), maxBytes, latest)) remove(ticket);
  }

  return {
    async run(call) {
      const onEnd = () => evictFor(task, principalOf(call));
      const task: GatewayTask = new GatewayTask({ heddle, call, ttlMs, clock, onEnd });
      if (!(await isLate(task.first, afterMs, timer)) || !hasCapacity(principalOf(call))) return task.first;
      task.detach();
      const ticket = randomUUID();
      kept.set(ticket, {
        task,
        principal: principalOf(call),
        cancelExpiry: timer(ttlMs, () => remove(ticket)),
      });
      task.ticket = ticket;
      return task;
    },
    find(ticket, request) {
      const entry = kept.get(ticket);
      return entry?.principal === principalOf(request) ? entry.task : undefined;
    },
    close() {
      for (const ticket of [...kept.keys()]) remove(ticket);
    },
  };
}

/**
 * Returns the tickets of the oldest results to remove, so that the rest takes at most `maxBytes`. The latest result
 * stays whatever its size: its client has had no time to fetch it.
 */
function surplus(
  ended: readonly (readonly [string, KeptTask])[],
  maxBytes: number,
  latest: GatewayTask,
): readonly string[] {
  let bytes = ended.reduce((sum, [, { task }]) => sum + task.bytes, 0);
  return ended.flatMap(([ticket, { task }]) => {
    if (bytes <= maxBytes || task === latest) return [];
    bytes -= task.bytes;
    return [ticket];
  });
}

function isLate(first: Promise<unknown>, afterMs: number, timer: Timer): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const cancel = timer(afterMs, () => resolve(true));
  const onTime = () => {
    cancel();
    resolve(false);
  };
  first.then(onTime, onTime);
  return promise;
}
