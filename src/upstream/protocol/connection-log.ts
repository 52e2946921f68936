import type { JsonObject, ResolvedCall } from '../../core/call.ts';
import { LOG_LEVELS } from '../../core/records/log-levels.ts';
import { LOG_MESSAGE } from '../call-request.ts';

/** The log messages of one connection: the lowest level asked for, and the call that gets messages without a call. */
export interface ConnectionLog {
  /** Must be called before every call is sent. The call waits for the returned promise and fails with it. */
  beforeCall(call: ResolvedCall): Promise<void> | undefined;
  onNotification(method: string, params: JsonObject): void;
  /** Settles when no `logging/setLevel` is in flight. */
  settled(): Promise<void> | undefined;
}

/**
 * Passes log messages without a call to the last call, while all calls of the connection have one principal; otherwise
 * drops them. Asks the server for the lowest level of any call; each call filters by its own level.
 */
export function connectionLog(setLevel: (level: string) => Promise<void> | undefined = () => undefined): ConnectionLog {
  let principal: string | undefined;
  let isShared = false;
  let latest: ResolvedCall['log'];
  let lowest = LOG_LEVELS.length;
  let raising: Promise<void> | undefined;

  function raise(level: string): void {
    const at = LOG_LEVELS.indexOf(level);
    if (at >= lowest) return;
    lowest = at;
    const current = setLevel(level)?.finally(() => {
      if (raising === current) raising = undefined;
    });
    raising = current;
  }

  return {
    beforeCall({ caller, log }) {
      isShared ||= principal !== undefined && principal !== caller.id;
      principal = caller.id;
      latest = log;
      if (!log) return undefined;
      raise(log.level);
      return raising;
    },
    onNotification(method, params) {
      if (method === LOG_MESSAGE && !isShared) latest?.onMessage(params);
    },
    settled: () => raising?.catch(() => {}),
  };
}
