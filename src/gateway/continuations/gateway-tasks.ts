import type { PendingApproval } from '../../core/call/approval.ts';
import type { Call, Result } from '../../core/call.ts';
import { type Clock, realTimer, type Timer } from '../../core/time.ts';
import type { Heddle } from '../../heddle.ts';
import type { ApprovalWaits } from './approval-waits.ts';
import { GatewayTask } from './gateway-task.ts';
import { type KeptTasksLimits, keptTasks } from './kept-tasks.ts';
import type { GatewayTaskRoute } from './task-ids.ts';

/** The gateway tasks of this process: long calls whose clients got a task id instead of the result. */
export interface GatewayTasks {
  /**
   * Runs a call. Resolves with its result, or with its task if the result takes longer than `afterMs` or an approver
   * has to decide first. Without room for another task the result is `waiting`.
   */
  run(call: Call): Promise<Result | GatewayTask>;
  /** Runs the call of a task that an earlier gateway kept. Returns undefined if there is no room for it. */
  resume(call: Call, route: GatewayTaskRoute): GatewayTask | undefined;
  /** Returns the caller's task; undefined if it does not exist, has expired or belongs to another principal. */
  find(ticket: string, request: Pick<Call, 'caller'>): GatewayTask | undefined;
  /** Cancels all tasks. */
  close(): void;
}

export interface GatewayTasksOptions extends KeptTasksLimits {
  /** Time until a client gets a task id instead of the result. */
  readonly afterMs?: number;
  /** Longest time for a call and for keeping its result. */
  readonly ttlMs?: number;
  readonly timer?: Timer;
  readonly clock?: Clock;
}

const AFTER_MS = 10_000;
const TTL_MS = 3_600_000;
// Longest life of a task that waits for an approver; state secrets live longer.
const LONGEST_MS = 7 * 24 * TTL_MS;

interface GatewayTasksParts {
  readonly heddle: Pick<Heddle, 'dispatch' | 'catalog' | 'approvals'>;
  readonly waits: Pick<ApprovalWaits, 'withdrawable'>;
}

export function gatewayTasks({ heddle, waits }: GatewayTasksParts, options: GatewayTasksOptions = {}): GatewayTasks {
  const { afterMs = AFTER_MS, ttlMs = TTL_MS, timer = realTimer, clock = Date.now } = options;
  const kept = keptTasks(options, timer);

  function start(call: Call): GatewayTask {
    const onEnd = () => kept.evictFor(task, call);
    const task: GatewayTask = new GatewayTask({ heddle, waits, call, ttlMs, clock, onEnd });
    return task;
  }

  /** Lets a task outlive its request. Returns undefined if there is no room for it. */
  function keep(task: GatewayTask, call: Call): GatewayTask | undefined {
    if (!kept.add(task, call)) return undefined;
    task.detach();
    return task;
  }

  /** Keeps a task while approvers decide. It lives as long as its approval, and then as long as any other task. */
  function keepWaiting(task: GatewayTask, call: Call, approval: PendingApproval): GatewayTask | undefined {
    task.ttlMs = Math.min(ttlMs + Math.max(approval.expiresAt - clock(), 0), LONGEST_MS);
    task.waitFor(approval);
    return keep(task, call);
  }

  return {
    async run(call) {
      const task = start(call);
      if (await isLate(task.first, afterMs, timer)) return keep(task, call) ?? task.first;
      const first = await task.first;
      return first.kind === 'waiting' ? (keepWaiting(task, call, first.approval) ?? first) : first;
    },
    resume(call, route) {
      const task = start(call);
      task.route = route;
      return keep(task, call);
    },
    find: kept.find,
    close: kept.close,
  };
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
