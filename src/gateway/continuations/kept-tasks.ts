import type { Call } from '../../core/call.ts';
import type { Timer } from '../../core/time.ts';
import type { GatewayTask } from './gateway-task.ts';
import { principalOf } from './request-state.ts';

/** The limits on the tasks of one gateway. */
export interface KeptTasksLimits {
  readonly max?: number;
  readonly maxPerPrincipal?: number;
  /** Largest total size of all kept results, and of those of one principal. */
  readonly maxBytes?: number;
  readonly maxBytesPerPrincipal?: number;
}

/** The tasks of one gateway by ticket. Each is removed after its time to live. */
export interface KeptTasks {
  /** Adds a task if there is room. If not, the oldest ended task makes room for it. Returns whether it was added. */
  add(task: GatewayTask, request: Pick<Call, 'caller'>): boolean;
  find(ticket: string, request: Pick<Call, 'caller'>): GatewayTask | undefined;
  /** Removes the oldest results, so that the rest is within the limits together with the latest. */
  evictFor(latest: GatewayTask, request: Pick<Call, 'caller'>): void;
  close(): void;
}

interface KeptTask {
  readonly task: GatewayTask;
  readonly principal: string;
  readonly cancelExpiry: () => void;
}

const MAX = 1000;
const MAX_PER_PRINCIPAL = 16;
// A caller may have 50 open approvals. A task that waits for one does nothing.
const MAX_WAITING_PER_PRINCIPAL = 50;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_BYTES_PER_PRINCIPAL = 16 * 1024 * 1024;

export function keptTasks(limits: KeptTasksLimits, timer: Timer): KeptTasks {
  const { max = MAX, maxPerPrincipal = MAX_PER_PRINCIPAL } = limits;
  const { maxBytes = MAX_BYTES, maxBytesPerPrincipal = MAX_BYTES_PER_PRINCIPAL } = limits;
  const kept = new Map<string, KeptTask>();

  function remove(ticket: string): void {
    const entry = kept.get(ticket);
    entry?.cancelExpiry();
    entry?.task.cancel();
    kept.delete(ticket);
  }

  /** Tests whether another task fits among these. If not, the oldest ended one makes room for it. */
  function fits(counted: readonly (readonly [string, KeptTask])[], most: number): boolean {
    if (counted.length < most) return true;
    const [ended] = counted.find(([, { task }]) => task.isEnded) ?? [];
    if (ended !== undefined) remove(ended);
    return ended !== undefined;
  }

  function hasCapacity({ isWaiting }: GatewayTask, principal: string): boolean {
    const own = [...kept].filter(([, one]) => one.principal === principal && one.task.isWaiting === isWaiting);
    return fits(own, isWaiting ? MAX_WAITING_PER_PRINCIPAL : maxPerPrincipal) && fits([...kept], max);
  }

  return {
    add(task, request) {
      const principal = principalOf(request);
      if (!hasCapacity(task, principal)) return false;
      const { ticket } = task.route;
      kept.set(ticket, { task, principal, cancelExpiry: timer(task.ttlMs, () => remove(ticket)) });
      return true;
    },
    find(ticket, request) {
      const entry = kept.get(ticket);
      return entry?.principal === principalOf(request) ? entry.task : undefined;
    },
    evictFor(latest, request) {
      const principal = principalOf(request);
      const ended = () => [...kept].filter(([, { task }]) => task.isEnded);
      const own = ended().filter(([, entry]) => entry.principal === principal);
      for (const ticket of surplus(own, maxBytesPerPrincipal, latest)) remove(ticket);
      for (const ticket of surplus(ended(), maxBytes, latest)) remove(ticket);
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
