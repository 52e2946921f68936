import { randomUUID } from 'node:crypto';
import type { Call, Result } from '../../core/call.ts';
import type { Clock } from '../../core/time.ts';
import { realTimer, type Timer } from '../../core/time.ts';
import type { Heddle } from '../../heddle.ts';
import { GatewayTask } from './gateway-task.ts';
import { principalOf } from './request-state.ts';

/** Calls that take so long that their clients were given an id instead of the answer. In this process only. */
export interface GatewayTasks {
  /** The result, or what is held in its stead because it is not there yet. */
  run(call: Call): Promise<Result | GatewayTask>;
  /** What its own caller asks about; undefined when it is no longer here. */
  find(ticket: string, asked: Pick<Call, 'caller'>): GatewayTask | undefined;
  /** Cancels them all. */
  close(): void;
}

export interface GatewayTasksOptions {
  /** How long a client waits for an answer before it is given an id. */
  readonly afterMs?: number;
  /** How long a call may take, and its answer is kept. */
  readonly ttlMs?: number;
  readonly max?: number;
  readonly maxPerPrincipal?: number;
  /** How much the answers of all callers may take, and those of one. */
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

interface Held {
  readonly call: GatewayTask;
  readonly principal: string;
  readonly forget: () => void;
}

export function gatewayTasks(
  heddle: Pick<Heddle, 'dispatch' | 'catalog'>,
  options: GatewayTasksOptions = {},
): GatewayTasks {
  const { afterMs = AFTER_MS, ttlMs = TTL_MS, max = MAX, maxPerPrincipal = MAX_PER_PRINCIPAL } = options;
  const { maxBytes = MAX_BYTES, maxBytesPerPrincipal = MAX_BYTES_PER_PRINCIPAL } = options;
  const { timer = realTimer, clock = Date.now } = options;
  const held = new Map<string, Held>();

  function leave(ticket: string): void {
    const entry = held.get(ticket);
    entry?.forget();
    entry?.call.cancel();
    held.delete(ticket);
  }

  // An answer that waits to be fetched goes when its room is needed: the oldest first.
  function hasRoom(principal: string): boolean {
    const isFull = (own: boolean) => {
      const counted = [...held].filter(([, entry]) => !own || entry.principal === principal);
      if (counted.length < (own ? maxPerPrincipal : max)) return false;
      const [over] = counted.find(([, { call }]) => call.isOver) ?? [];
      if (over !== undefined) leave(over);
      return over === undefined;
    };
    return !isFull(true) && !isFull(false);
  }

  function makeRoomFor(last: GatewayTask, principal: string): void {
    const over = () => [...held].filter(([, { call }]) => call.isOver);
    const own = over().filter(([, entry]) => entry.principal === principal);
    for (const ticket of surplus(own, maxBytesPerPrincipal, last)) leave(ticket);
    for (const ticket of surplus(over(), maxBytes, last)) leave(ticket);
  }

  return {
    async run(call) {
      const onOver = () => makeRoomFor(running, principalOf(call));
      const running: GatewayTask = new GatewayTask({ heddle, call, ttlMs, clock, onOver });
      if (!(await isLate(running.first, afterMs, timer)) || !hasRoom(principalOf(call))) return running.first;
      running.hold();
      const ticket = randomUUID();
      held.set(ticket, {
        call: running,
        principal: principalOf(call),
        forget: timer(ttlMs, () => leave(ticket)),
      });
      running.ticket = ticket;
      return running;
    },
    find(ticket, asked) {
      const entry = held.get(ticket);
      return entry?.principal === principalOf(asked) ? entry.call : undefined;
    },
    close() {
      for (const ticket of [...held.keys()]) leave(ticket);
    },
  };
}

/**
 * Which answers have to go, the oldest first, for the others to take no more than this. The one that came last stays,
 * however long it is: its client has had no chance to fetch it.
 */
function surplus(answers: readonly (readonly [string, Held])[], most: number, last: GatewayTask): readonly string[] {
  let bytes = answers.reduce((sum, [, { call }]) => sum + call.bytes, 0);
  return answers.flatMap(([ticket, { call }]) => {
    if (bytes <= most || call === last) return [];
    bytes -= call.bytes;
    return [ticket];
  });
}

function isLate(first: Promise<unknown>, afterMs: number, alarm: Timer): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const cancel = alarm(afterMs, () => resolve(true));
  const onTime = () => {
    cancel();
    resolve(false);
  };
  first.then(onTime, onTime);
  return promise;
}
